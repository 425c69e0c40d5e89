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

import { connectNats, type NatsBus, permissionsOf } from '@dovetail/adapter-nats';
import {
  busRights,
  type Decision,
  publishDecision,
  publishState,
  streamSpecs,
} from '@dovetail/contracts';
import { nodeValue } from '@dovetail/core-kube-model/testing';
import { systemClock, systemHash } from '@dovetail/runtime';
import { isUnavailable, obtainNatsServer, type RunningNats, startNats } from '@dovetail/testbed';
import { transformSync } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

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
const names = ['contracts', 'client'] as const;
run('npm', 'init', '--yes');
for (const name of names)
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
const installed = (name: string, ...path: readonly string[]): string =>
  join(scratch, 'node_modules', '@dovetail', name, ...path);

/** The TypeScript of a page, block by block, as a reader would copy it. */
const examplesOf = (page: string): readonly string[] =>
  [...page.matchAll(/^```(?:ts|js)\n([^]*?)^```$/gm)].map(([, code]) => code ?? '');
const pages: Readonly<Record<string, string>> = {
  'the README of contracts': readFileSync(installed('contracts', 'README.md'), 'utf8'),
  'the README of client': readFileSync(installed('client', 'README.md'), 'utf8'),
  'the guide': readFileSync(join(root, 'docs/guides/subscribe.md'), 'utf8'),
};
const examples = Object.entries(pages).flatMap(([page, text]) =>
  examplesOf(text)
    .filter((code) => code.includes("'@dovetail/"))
    .map((code, at) => ({ page, number: at + 1, code })),
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

describe('the packages, installed in an empty folder', () => {
  test('hold no package of this repository but themselves', () => {
    expect(readdirSync(join(scratch, 'node_modules', '@dovetail')).toSorted()).toEqual([
      'client',
      'contracts',
    ]);
  });

  test.each(names)('%s has a README, the licence, and all .proto files', (name) => {
    expect(readdirSync(installed(name)).toSorted()).toEqual(
      expect.arrayContaining(['LICENSE', 'README.md', 'index.js', 'proto', 'types']),
    );
    expect(readdirSync(installed(name, 'proto/dovetail/v1'))).toEqual(
      readdirSync(join(root, 'proto/dovetail/v1')),
    );
  });

  test('name the version that they were packed from', () => {
    const versionOf = (path: string): unknown =>
      (JSON.parse(readFileSync(path, 'utf8')) as { readonly version: unknown }).version;
    for (const name of names)
      expect(versionOf(installed(name, 'package.json'))).toBe(
        versionOf(join(root, 'libs', name, 'package.json')),
      );
  });
});

const compilations = [
  { module: 'nodenext', moduleResolution: 'nodenext' },
  { module: 'esnext', moduleResolution: 'bundler' },
] as const;

/** The complaints of the compiler about programs, in strict mode, with all declarations checked. */
function complaints(programs: readonly string[], how: (typeof compilations)[number]): string {
  const files = programs.map((code, at) => {
    const file = `program-${String(at)}.mts`;
    writeFileSync(join(scratch, file), code);
    return file;
  });
  const compilerOptions = {
    ...how,
    target: 'es2023',
    lib: ['es2023', 'dom'],
    strict: true,
    noEmit: true,
    skipLibCheck: false,
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
  };
  writeFileSync(join(scratch, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  const compiler = join(root, 'node_modules/typescript7/bin/tsc');
  return spawnSync(process.execPath, [compiler, '--pretty', 'false', '-p', '.'], {
    cwd: scratch,
    encoding: 'utf8',
  }).stdout;
}

describe.each(compilations)('compiled as $module', (how) => {
  test('every example of the docs passes', () => {
    expect(examples.length).toBeGreaterThan(5);
    expect(
      complaints(
        examples.map(({ code }) => code),
        how,
      ),
    ).toBe('');
  });

  test('a program that misreads a decision does not', () => {
    const source =
      "import { decisions } from '@dovetail/client';\n" +
      "for await (const event of decisions({ cluster: 'lab' }, new AbortController().signal))\n" +
      "  if (event.kind === 'decision') console.log(event.decision.sumary);\n";
    expect(complaints([source], how)).toMatch(/^program-0\.mts\(3,.*'sumary'.*\n$/);
  });
});

const program = await obtainNatsServer();

/** Runs the program until it has printed a line. Returns that line. */
function lineOf(file: string, natsUrl: string): Promise<string> {
  const child = spawn(process.execPath, [file], {
    cwd: scratch,
    env: { PATH: process.env.PATH, NATS_URL: natsUrl, CLUSTER_NAME: 'lab' },
  });
  let errors = '';
  child.stderr.on('data', (chunk) => (errors += String(chunk)));
  return new Promise<string>((resolve, reject) => {
    child.stdout.once('data', (chunk) => {
      resolve(String(chunk).trim());
      child.kill('SIGINT');
    });
    child.once('exit', (code) => reject(new Error(`ended with ${code}: ${errors}`)));
  });
}

/** The first line that an example prints, by a part of its text. */
const prints: readonly (readonly [string, RegExp])[] = [
  ['takeDecisions(', /^decision\/one launched c6g\.2xlarge 1$/],
  ['LAST_SEQUENCE', /^1 launch$/],
  ['clusterState(', /kind: 'node'/],
  ['event.decision.reasons', /^1 launched c6g\.2xlarge \[\]$/],
  ['sentenceOf', /^dovetail\.lab\.decision\.v1\.launch\.>$/],
  ['priceMicrosPerHour ?? 0', /^launched c6g\.2xlarge 0\.272$/],
];

/** The example as a program of Node.js 20, for the server of the test instead of the usual one. */
function runnable(code: string): string {
  const { code: plain } = transformSync(code, { loader: 'ts', format: 'esm' });
  const url = "process.env['NATS_URL']";
  return code.includes('127.0.0.1:4222')
    ? plain.replace(/"nats:\/\/127\.0\.0\.1:4222"\]/, `${url}]`)
    : plain.replace(/cluster: "lab"/, `servers: [${url}], cluster: "lab"`);
}

if (isUnavailable(program)) {
  test('the examples are left out', () =>
    process.stderr.write(`LEFT OUT: the examples of the packages: ${program.unavailable}\n`));
} else {
  describe('run against a bus that lets in a client without a name as the reader', () => {
    let nats: RunningNats;
    let bus: NatsBus;
    beforeAll(async () => {
      const as = (role: 'reader' | 'console', user: string): object => ({
        user,
        password: user,
        permissions: permissionsOf(busRights('lab', role)),
      });
      const users = [
        as('reader', 'anyone'),
        as('console', 'console'),
        { user: 'all', password: 'all' },
      ];
      const config = `authorization { users: ${JSON.stringify(users)} }\nno_auth_user: anyone\n`;
      nats = await startNats({ path: program.path, dir: join(scratch, 'nats'), config });
      const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
      const credentials = { kind: 'user', user: 'all', password: 'all' } as const;
      const writer = { servers: [nats.url], name: 'writer', log, credentials };
      bus = connectNats({ ...writer, makesStreams: true });
      await bus.ensureStreams(streamSpecs('lab'));
      const channel = { bus, cluster: 'lab', hash: systemHash, source: 'test', clock: systemClock };
      await publishDecision(channel, decision);
      const value = nodeValue('node-a');
      const state = { kind: 'node', value } as const;
      await publishState(channel, { kind: 'set', uid: value.uid, state, generation: '1.1' });
    }, 60_000);
    afterAll(async () => {
      await bus?.close();
      await nats?.stop();
    });

    test.each(examples)(
      'example $number of $page prints what it should',
      async ({ code, number }) => {
        const [, expected] = prints.find(([part]) => code.includes(part)) ?? [];
        // An example that only declares something is compiled alone.
        if (expected === undefined) return void expect(code).toMatch(/^export function/m);
        const file = `example-${String(number)}.mjs`;
        // The guard has names and passwords here instead of keys.
        const named = "{ kind: 'user', user: 'console', password: 'console' }";
        const own = code.replace(
          /\{ kind: 'nkey', seed: readFileSync\('console\.nk'[^}]*\}/,
          named,
        );
        writeFileSync(join(scratch, file), runnable(own));
        expect(await lineOf(file, nats.url)).toMatch(expected);
      },
      60_000,
    );

    test('and so is the program of the folder `examples`', async () => {
      copyFileSync(join(root, 'examples', 'subscriber.mjs'), join(scratch, 'subscriber.mjs'));
      expect(await lineOf('subscriber.mjs', nats.url)).toBe('launched c6g.2xlarge 0.272');
    }, 60_000);
  });
}
