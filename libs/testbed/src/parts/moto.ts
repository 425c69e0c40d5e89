import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import {
  type ObtainOptions,
  type Program,
  settingsOf,
  type Unavailable,
} from '../obtain/obtained.js';
import { obtainPython } from '../obtain/python.js';
import { httpRequest } from '../process/http.js';
import { type RunningPart, startPart } from '../process/part.js';
import { freePort } from '../process/ports.js';

const motoVersion = '5.2.5';

/**
 * Obtains moto, an independent imitation of AWS, in a Python environment of its own. The path is
 * that Python's.
 */
export const obtainMoto = (options: ObtainOptions = {}): Promise<Program | Unavailable> =>
  obtainPython(
    {
      title: `moto ${motoVersion}`,
      name: `moto-${motoVersion}`,
      packages: [`moto[server,ec2,sqs,ssm,iam]==${motoVersion}`],
      imports: [],
    },
    settingsOf(options),
  );

/** How to start moto; `path` is the Python that `obtainMoto` returns. */
export type MotoOptions = {
  readonly path: string;
  readonly dir: string;
  readonly port?: number;
  readonly readyDeadlineMs?: number;
};

/** Starts moto's server on loopback; one endpoint, given as `url`, answers for all services. */
export async function startMoto(
  options: MotoOptions,
): Promise<RunningPart & { readonly url: string }> {
  const port = options.port || (await freePort());
  const url = `http://127.0.0.1:${port}`;
  await mkdir(options.dir, { recursive: true });
  const part = await startPart({
    name: 'moto',
    command: options.path,
    // As a module: scripts of a Python environment name its first folder, and ours was renamed.
    args: ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)],
    cwd: options.dir,
    logFile: join(options.dir, 'moto.log'),
    ready: async () => (await httpRequest(`${url}/moto-api/data.json`)).status === 200,
    readyDeadlineMs: options.readyDeadlineMs ?? 60_000,
  });
  return Object.assign(part, { url });
}
