import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { TestbedError } from '../process/errors.js';
import { run } from '../process/run.js';

/** An npm package of one version, and how to fetch it. */
export type NpmPackage = {
  /** `name@version`. */
  readonly spec: string;
  /** Its digest, as npm's lock files write it. */
  readonly integrity: string;
  readonly deadlineMs: number;
  /** For the reader of an error: how to get it nevertheless. */
  readonly remedy: string;
};

/**
 * Downloads a package, checks its digest, unpacks files of it and hands over the folder that has
 * `package/…`. The folder is gone afterwards. Rejects with TestbedError.
 */
export async function withNpmPackage(
  { spec, integrity, deadlineMs, remedy }: NpmPackage,
  files: readonly string[],
  use: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'dovetail-npm-'));
  const command = { cwd: folder, deadlineMs, remedy };
  try {
    // pack, not install: installing would pull in the peers the package declares.
    await run('npm', ['pack', '--silent', spec], command);
    const [tarball = ''] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'));
    const digest = createHash('sha512').update(await readFile(join(folder, tarball)));
    const found = `sha512-${digest.digest('base64')}`;
    if (found !== integrity)
      throw new TestbedError({
        failed: `${spec} has the digest ${found} instead of ${integrity}`,
        remedy: 'do not use it; find out which registry serves something else as this version',
      });
    await run('tar', ['-xzf', tarball, ...files.map((file) => `package/${file}`)], command);
    await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
