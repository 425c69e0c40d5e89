import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import { installOnce } from '../obtain/cache.js';
import {
  type ObtainOptions,
  orUnavailable,
  type Program,
  settingsOf,
  type Unavailable,
} from '../obtain/obtained.js';
import { versionOf } from '../obtain/versions.js';
import { httpRequest } from '../process/http.js';
import { type RunningPart, startPart } from '../process/part.js';
import { freePort } from '../process/ports.js';
import { run } from '../process/run.js';

const motoVersion = '5.2.5';
const deadlineMs = 10 * 60_000;
const remedy = 'make python3 with its venv module, and PyPI, reachable';

/**
 * Obtains moto, an independent imitation of AWS, in a Python environment of its own. The path is
 * that Python's.
 */
export async function obtainMoto(options: ObtainOptions = {}): Promise<Program | Unavailable> {
  return await orUnavailable(async () => {
    const settings = settingsOf(options);
    const folder = await installOnce({
      ...settings,
      name: `moto-${motoVersion}`,
      deadlineMs,
      isGood: async (candidate) => (await versionIn(pythonIn(candidate))) === motoVersion,
      fill: async (draft) => {
        settings.log(
          `moto ${motoVersion}: installing into a Python environment of its own (about half a minute)`,
        );
        await run('python3', ['-m', 'venv', draft], { deadlineMs, remedy });
        const wanted = `moto[server,ec2,sqs,ssm,iam]==${motoVersion}`;
        const args = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', wanted];
        await run(pythonIn(draft), args, { deadlineMs, remedy });
      },
    });
    return { path: pythonIn(folder), version: motoVersion };
  });
}

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

const pythonIn = (folder: string): string => join(folder, 'bin', 'python');

const versionIn = (python: string): Promise<string | undefined> =>
  versionOf(
    python,
    ['-c', "from importlib.metadata import version; print(version('moto'))"],
    /^(\S+)/,
  );
