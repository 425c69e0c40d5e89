// The npm packages of a release: packed, and installed together in an empty folder.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** The folders under dist/packages, each before those that need it. */
export const packageNames = ['contracts', 'client', 'cli'] as const;

/** Packs the packages into the folder, installs them elsewhere, and runs what they hold. */
export function packPackages(into: string, version: string): string {
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
