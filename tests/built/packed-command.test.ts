import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { manifestAt } from '@dovetail/tools/workspace';
import { afterAll, describe, expect, test } from 'vitest';

/** Tests the command as a stranger gets it: packed, and installed in an empty folder. */
const root = join(import.meta.dirname, '..', '..');
const scratch = mkdtempSync(join(tmpdir(), 'dovetail-packed-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const npm = (...args: readonly string[]): string =>
  execFileSync('npm', [...args, '--loglevel=error'], {
    cwd: scratch,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
npm('init', '--yes');
npm('pack', join(root, 'dist/packages/cli'));
const [tarball = 'none'] = readdirSync(scratch).filter((file) => file.endsWith('.tgz'));
npm('install', '--no-audit', '--no-fund', '--offline', `./${tarball}`);

function dovetail(...args: readonly string[]): {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
} {
  const { status, stdout, stderr } = spawnSync(join(scratch, 'node_modules/.bin/dovetail'), args, {
    cwd: scratch,
    encoding: 'utf8',
    env: { PATH: process.env.PATH },
  });
  return { status, stdout, stderr };
}

describe('the command, installed in an empty folder', () => {
  test('brings no other package', () => {
    const installed = readdirSync(join(scratch, 'node_modules')).filter(
      (name) => !name.startsWith('.'),
    );
    expect(installed).toEqual(['@dovetail']);
    expect(readdirSync(join(scratch, 'node_modules/@dovetail'))).toEqual(['cli']);
  });
  test('says its version, which is that of the repository', () =>
    expect(dovetail('--version')).toEqual({
      status: 0,
      stdout: `${manifestAt('package.json').version}\n`,
      stderr: '',
    }));
  test('says how to simulate', () =>
    expect(dovetail('simulate', '--help')).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^Usage: dovetail simulate /),
    }));
  test('plans with a bound, so its thread and its WebAssembly are there', () => {
    cpSync(join(root, 'examples/web'), join(scratch, 'web'), { recursive: true });
    const { status, stdout } = dovetail('simulate', '-f', 'web', '-o', 'json');
    expect({ status, cost: (JSON.parse(stdout) as { cost: object }).cost }).toMatchObject({
      status: 0,
      cost: { hourly: expect.any(Number), bound: expect.any(String) },
    });
  });
  test('installs for a whole machine, where the shell finds it by its name', () => {
    const prefix = join(scratch, 'global');
    npm('install', '--global', '--offline', '--prefix', prefix, join(scratch, tarball));
    const found = spawnSync('dovetail', ['lab', 'clock', '1h'], {
      cwd: scratch,
      encoding: 'utf8',
      env: { PATH: `${join(prefix, 'bin')}:${process.env.PATH ?? ''}` },
    });
    expect(found).toMatchObject({
      status: 69,
      stderr: expect.stringMatching(/^no lab runs in this folder/),
    });
    // As kubectl finds a plug-in.
    const plugIn = spawnSync(join(prefix, 'bin', 'kubectl-dovetail'), ['--version'], {
      encoding: 'utf8',
    });
    expect(plugIn.stdout).toBe(`${manifestAt('package.json').version}\n`);
  });
  test('is one file, too, which needs nothing beside it', () => {
    const alone = join(scratch, 'alone');
    cpSync(join(root, 'examples/web'), join(alone, 'web'), { recursive: true });
    const file = join(alone, 'dovetail');
    copyFileSync(join(root, 'dist/dovetail.mjs'), `${file}.mjs`);
    symlinkSync('dovetail.mjs', file);
    const typed = (...args: readonly string[]) =>
      spawnSync(file, args, { cwd: alone, encoding: 'utf8', env: { PATH: process.env.PATH } });
    expect(typed('--version').stdout).toBe(`${manifestAt('package.json').version}\n`);
    const planned = (ran: { readonly stdout: string }): unknown => {
      const { stats: _timed, ...plan } = JSON.parse(ran.stdout) as { readonly stats: unknown };
      return plan;
    };
    const args = ['simulate', '-f', 'web', '--budget', '0', '--bound-steps', '1000', '-o', 'json'];
    cpSync(join(root, 'examples/web'), join(scratch, 'web'), { recursive: true });
    expect(planned(typed(...args))).toEqual(planned(dovetail(...args)));
    expect(readFileSync(`${file}.mjs`, 'utf8')).toContain('Apache License');
  });
  test('brings the licences of what is in it', () => {
    const installed = join(scratch, 'node_modules/@dovetail/cli');
    expect(readdirSync(installed)).toEqual(expect.arrayContaining(['LICENSE', 'NOTICE']));
    expect(readdirSync(join(installed, 'lib'))).toEqual(
      expect.arrayContaining(['cli.notices.txt', 'highs-thread.notices.txt']),
    );
  });
});
