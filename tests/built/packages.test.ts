import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { connectNats } from '@dovetail/adapter-nats';
import { type Decision, publishDecision, streamSpecs } from '@dovetail/contracts';
import { systemClock, systemHash } from '@dovetail/runtime';
import { isUnavailable, obtainNatsServer, startNats } from '@dovetail/testbed';
import { afterAll, describe, expect, test } from 'vitest';

/**
 * Tests the packages as a stranger gets them: packed, and installed in an empty folder with nothing
 * of this repository in reach.
 */
const root = join(import.meta.dirname, '..', '..');
const scratch = mkdtempSync(join(tmpdir(), 'dovetail-packages-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const run = (command: string, ...args: readonly string[]): string =>
  execFileSync(command, args, {
    cwd: scratch,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
run('npm', 'init', '--yes');
for (const name of ['contracts', 'adapter-nats'])
  run('npm', 'pack', '--loglevel=error', join(root, 'dist', 'packages', name));
const tarballs = readdirSync(scratch).filter((file) => file.endsWith('.tgz'));
run(
  'npm',
  'install',
  '--no-audit',
  '--no-fund',
  '--loglevel=error',
  ...tarballs.map((file) => `./${file}`),
);

const decision: Decision = {
  id: 'one',
  kind: 'launch',
  atMs: 1_700_000_000_000,
  source: 'launcher/1',
  summary: 'launched c6g.2xlarge',
  objects: [],
  reasons: [],
  alternatives: [],
  facts: {},
  priceMicrosPerHour: 272_000,
};

/** Publishes the decision, runs the program until it has printed a line, and returns that line. */
async function lineOf(program: string, nats: { readonly url: string }): Promise<string> {
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const bus = connectNats({ servers: [nats.url], name: 'writer', log });
  try {
    await bus.ensureStreams(streamSpecs('lab'));
    const channel = { bus, cluster: 'lab', hash: systemHash, source: 'test', clock: systemClock };
    await publishDecision(channel, decision);
    const child = spawn(process.execPath, [program], {
      cwd: scratch,
      env: { PATH: process.env.PATH, NATS_URL: nats.url, CLUSTER_NAME: 'lab' },
    });
    let errors = '';
    child.stderr.on('data', (chunk) => (errors += String(chunk)));
    const line = await new Promise<string>((resolve, reject) => {
      child.stdout.once('data', (chunk) => resolve(String(chunk).trim()));
      child.once('exit', (code) => reject(new Error(`ended with ${code}: ${errors}`)));
    });
    child.kill('SIGINT');
    return line;
  } finally {
    await bus.close();
  }
}

describe('the packages, installed in an empty folder', () => {
  test('hold no package of this repository but themselves', () => {
    expect(readdirSync(join(scratch, 'node_modules', '@dovetail')).toSorted()).toEqual([
      'adapter-nats',
      'contracts',
    ]);
  });

  test("run the docs' subscriber", async () => {
    const program = await obtainNatsServer();
    if (isUnavailable(program)) {
      process.stderr.write(`LEFT OUT: the installed subscriber, because ${program.unavailable}\n`);
      return;
    }
    copyFileSync(join(root, 'examples', 'subscriber.mjs'), join(scratch, 'subscriber.mjs'));
    const nats = await startNats({ path: program.path, dir: join(scratch, 'nats') });
    try {
      expect(await lineOf('subscriber.mjs', nats)).toBe('launched c6g.2xlarge 0.272');
    } finally {
      await nats.stop();
    }
  });

  test('are typed: a program that misreads a decision does not compile', () => {
    const source = (field: string): string =>
      "import { decisions } from '@dovetail/adapter-nats/decisions';\n" +
      "import { subjects } from '@dovetail/contracts';\n" +
      "for await (const event of decisions({ cluster: 'lab' }, new AbortController().signal))\n" +
      `  if (event.kind === 'decision') console.log(event.decision.${field}, subjects);\n`;
    const config = {
      extends: join(root, 'tsconfig.base.json'),
      compilerOptions: {
        lib: ['es2023', 'dom'],
        types: [],
        customConditions: [],
        skipLibCheck: false,
      },
      files: ['program.mts'],
    };
    writeFileSync(join(scratch, 'tsconfig.json'), JSON.stringify(config));
    // NATS' own declarations do not pass our strictness, so only errors in our files count.
    const errorsOf = (field: string): readonly string[] => {
      writeFileSync(join(scratch, 'program.mts'), source(field));
      const compiler = join(root, 'node_modules/typescript7/bin/tsc');
      const { stdout } = spawnSync(
        process.execPath,
        [compiler, '--noEmit', '--pretty', 'false', '-p', '.'],
        { cwd: scratch, encoding: 'utf8' },
      );
      return stdout.split('\n').filter((line) => /^(program|node_modules\/@dovetail)/.test(line));
    };
    expect(errorsOf('summary')).toEqual([]);
    expect(errorsOf('sumary')).toEqual([expect.stringContaining("'sumary'")]);
  });
});

test('the packages name the version that they were packed from', () => {
  const versionOf = (path: string): unknown =>
    (JSON.parse(readFileSync(path, 'utf8')) as { readonly version: unknown }).version;
  expect(versionOf(join(scratch, 'node_modules/@dovetail/contracts/package.json'))).toBe(
    versionOf(join(root, 'libs/contracts/package.json')),
  );
});
