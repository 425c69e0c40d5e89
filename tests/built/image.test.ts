import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';

import { afterAll, describe, expect, test } from '@jest/globals';

/**
 * Tests the image without a container engine: the files that the Dockerfile copies, alone in a
 * folder, must suffice to start every service. It cannot show that the base image can be pulled and
 * runs them.
 */
const root = join(import.meta.dirname, '..', '..');
const lines = readFileSync(join(root, 'deploy/docker/Dockerfile'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'));
const wordsOf = (instruction: string): readonly (readonly string[])[] =>
  lines
    .filter((line) => line.startsWith(`${instruction} `))
    .map((line) => line.split(/\s+/).slice(1));
const app = mkdtempSync(join(tmpdir(), 'dovetail-image-'));
afterAll(() => rmSync(app, { recursive: true, force: true }));

/** The files that a source of COPY names. `*` stands for any letters of a file's name. */
function named(source: string): readonly string[] {
  if (!source.includes('*')) return [source];
  const pattern = new RegExp(`^${basename(source).replaceAll('.', '\\.').replaceAll('*', '.*')}$`);
  return readdirSync(join(root, dirname(source)))
    .filter((file) => pattern.test(file))
    .map((file) => join(dirname(source), file));
}

const sources = wordsOf('COPY')
  .flatMap((words) => words.slice(0, -1))
  .flatMap(named);
for (const source of sources) cpSync(join(root, source), join(app, basename(source)));
const [entry = '[]'] = lines
  .filter((line) => line.startsWith('ENTRYPOINT '))
  .map((line) => line.slice('ENTRYPOINT '.length));

/**
 * `docker run dovetail /app/<program> <args>` without docker, and without the repository in reach.
 */
function inImage(
  program: string,
  ...args: readonly string[]
): { readonly status: number | null; readonly output: string } {
  const [, ...flags] = JSON.parse(entry) as readonly string[];
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [...flags, join(app, program), ...args],
    { cwd: app, env: { PATH: '' }, encoding: 'utf8' },
  );
  return { status, output: `${stdout}${stderr}` };
}

describe('the image', () => {
  test.each(['pod-watcher', 'solver', 'launcher', 'reaper'])(
    '%s starts, and says how it is set',
    (service) => {
      expect(inImage(`${service}.js`, '--help')).toMatchObject({
        status: 0,
        output: expect.stringContaining('CLUSTER_NAME'),
      });
    },
  );
  test('a service without its settings names what is missing', () => {
    expect(inImage('launcher.js')).toMatchObject({
      status: 64,
      output: expect.stringContaining('--aws-region'),
    });
  });
  test('the command plans, with its bound, from files alone', () => {
    cpSync(join(root, 'examples'), join(app, 'examples'), { recursive: true });
    const { status, output } = inImage('cli.js', 'simulate', '-f', 'examples/web', '-o', 'json');
    expect({ status, cost: (JSON.parse(output) as { cost: object }).cost }).toMatchObject({
      status: 0,
      cost: { hourly: expect.any(Number), bound: expect.any(String) },
    });
  });
  test.each(['pod-watcher', 'solver', 'launcher', 'reaper', 'cli', 'highs-thread'])(
    'carries the licences of all packages in %s',
    (program) => {
      const dist = join(root, 'dist');
      const inputs = readdirSync(dist)
        .filter((file) => file.startsWith(program) && file.endsWith('.map'))
        .flatMap(
          (file) =>
            (JSON.parse(readFileSync(join(dist, file), 'utf8')) as { sources: string[] }).sources,
        );
      const packages = inputs.flatMap(
        (input) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1] ?? [],
      );
      const notices = `\n${readFileSync(join(app, `${program}.notices.txt`), 'utf8')}`;
      expect(packages.length).toBeGreaterThan(0);
      expect([...new Set(packages)].filter((name) => !notices.includes(`\n${name} `))).toEqual([]);
      expect(notices).toContain('Permission is hereby granted');
    },
  );
  test('carries its own licence and the sources of the catalog', () => {
    expect(readFileSync(join(app, 'LICENSE'), 'utf8')).toContain('Apache License');
    expect(readFileSync(join(app, 'NOTICE'), 'utf8')).toContain('moto');
  });
  test('is built from its own files alone: nothing else goes to the builder', () => {
    const ignored = readFileSync(join(root, '.dockerignore'), 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    const [first, ...kept] = ignored;
    expect(first).toBe('**');
    const keptFiles = kept.flatMap((line) => named(line.replace(/^!/, '')));
    expect(kept.every((line) => line.startsWith('!'))).toBe(true);
    expect(sources.filter((source) => !keptFiles.includes(source))).toEqual([]);
  });
  test('is no root and needs no network to be described', () => {
    expect(wordsOf('USER')).toEqual([['65532:65532']]);
    expect(wordsOf('RUN')).toEqual([]);
  });
});
