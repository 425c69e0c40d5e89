// The npm packages of a release: packed, and installed together in an empty folder.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** The folders under dist/packages, each before those that need it. */
export const packageNames = ['contracts', 'client', 'cli'] as const;

/** A release to pack: the version that the packages must say, and the repository's address. */
export type PackedRelease = {
  readonly version: string;
  /** `https://host/owner/name`; undefined where no release is made. */
  readonly repository: string | undefined;
};

/**
 * The text of package.json with the repository that it is published from. npm refuses a proof of
 * provenance of another one, or beside none.
 */
export const manifestWith = (manifest: string, repository: string): string =>
  `${JSON.stringify(
    {
      ...(JSON.parse(manifest) as object),
      repository: { type: 'git', url: `git+${repository.replace(/\.git$/, '')}.git` },
    },
    undefined,
    2,
  )}\n`;

/** Packs the packages into the folder, installs them elsewhere, and runs what they hold. */
export function packPackages(into: string, { version, repository }: PackedRelease): string {
  if (repository !== undefined)
    for (const name of packageNames) {
      const file = join(packed(name), 'package.json');
      writeFileSync(file, manifestWith(readFileSync(file, 'utf8'), repository));
    }
  const scratch = mkdtempSync(join(tmpdir(), 'dovetail-installed-'));
  const run = (command: string, args: readonly string[]): string =>
    execFileSync(command, args, { cwd: scratch, encoding: 'utf8', stdio: 'pipe' }).trim();
  try {
    const archives = packageNames.map((name) =>
      join(
        resolve(into),
        run('npm', ['pack', '--silent', '--pack-destination', resolve(into), packed(name)]),
      ),
    );
    run('npm', ['init', '--yes']);
    run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', ...archives]);
    const said = run(join(scratch, 'node_modules/.bin/dovetail'), ['--version']);
    if (said !== version) throw new Error(`the installed command says version ${said}`);
    const imports = "await import('@dovetail/contracts'), await import('@dovetail/client')";
    run(process.execPath, ['--input-type=module', '--eval', imports]);
    return `${packageNames.map((name) => `@dovetail/${name}`).join(', ')} ${version}, installed in an empty folder`;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

const packed = (name: string): string => resolve('dist/packages', name);
