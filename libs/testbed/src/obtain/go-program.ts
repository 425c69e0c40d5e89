import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { TestbedError } from '../process/errors.js';
import { findOnPath, isExecutable, run } from '../process/run.js';
import { installOnce } from './cache.js';
import {
  type ObtainOptions,
  orUnavailable,
  type Program,
  settingsOf,
  type Unavailable,
} from './obtained.js';

const deadlineMs = 10 * 60_000;
const remedy = 'install Go 1.26 or later and make its module proxy reachable; then try again';
// These override the user's Go settings. `-mod=readonly` holds the build to go.sum.
const env = { CGO_ENABLED: '0', GOWORK: 'off', GOFLAGS: '-mod=readonly', GO111MODULE: 'on' };

/**
 * Builds the Go program in a folder, with the versions that its go.mod and go.sum name. Programs
 * are cached by the content of the folder's files, so an unchanged one is built once.
 */
export async function obtainGoProgram(
  source: string,
  options: ObtainOptions = {},
): Promise<Program | Unavailable> {
  return await orUnavailable(async () => {
    const settings = settingsOf(options);
    const version = await digestOf(source);
    const folder = await installOnce({
      ...settings,
      name: `go-program-${version}`,
      deadlineMs,
      isGood: (candidate) => isExecutable(join(candidate, 'program')),
      fill: async (draft) => {
        if ((await findOnPath('go')) === undefined)
          throw new TestbedError({ failed: 'there is no go on PATH', remedy });
        settings.log(`${source}: building (about half a minute on 2 cores, once)`);
        const flags = ['-trimpath', '-buildvcs=false', '-o', join(draft, 'program')];
        await run('nice', ['-n', '10', 'go', 'build', ...flags, '.'], {
          cwd: source,
          env,
          deadlineMs,
          remedy,
        });
      },
    });
    return { path: join(folder, 'program'), version };
  });
}

async function digestOf(folder: string): Promise<string> {
  const digest = createHash('sha256');
  for (const name of (await readdir(folder)).toSorted())
    digest.update(`${name}\0`).update(await readFile(join(folder, name)));
  return digest.digest('hex').slice(0, 12);
}
