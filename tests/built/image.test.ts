import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

import { trackedFiles } from '@dovetail/tools/workspace';
import { afterAll, describe, expect, test } from 'vitest';

/**
 * Tests the image without a container engine: the files that the Dockerfile copies into the last
 * stage, alone in a folder, must suffice to start every service. It cannot show that the base
 * images can be pulled.
 */
const root = join(import.meta.dirname, '..', '..');
const linesOf = (path: string): readonly string[] =>
  readFileSync(join(root, path), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
const lines = linesOf('deploy/docker/Dockerfile');
const lastStage = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')));
const wordsOf = (instruction: string, within = lines): readonly (readonly string[])[] =>
  within
    .filter((line) => line.startsWith(`${instruction} `))
    .map((line) => line.split(/\s+/).slice(1));
const app = mkdtempSync(join(tmpdir(), 'dovetail-image-'));
afterAll(() => rmSync(app, { recursive: true, force: true }));
cpSync(join(root, 'dist/image'), app, { recursive: true });

const programs = [
  'pod-watcher',
  'solver',
  'launcher',
  'reaper',
  'console',
  'sinks',
  'cli',
  'highs-thread',
  'traces',
];
const services = programs.slice(0, 6);
const textIn = (file: string): string => readFileSync(join(app, file), 'utf8');

/**
 * `docker run dovetail /app/<program> <args>` without docker, and without the repository in reach.
 */
function inImage(
  program: string,
  ...args: readonly string[]
): { readonly status: number | null; readonly stdout: string; readonly output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(app, program), ...args], {
    cwd: app,
    env: { PATH: '' },
    encoding: 'utf8',
  });
  return { status, stdout, output: `${stdout}${stderr}` };
}

describe('the image', () => {
  test.each(services)('%s starts, and says how it is set', (service) => {
    expect(inImage(`${service}.js`, '--help')).toMatchObject({
      status: 0,
      output: expect.stringContaining('CLUSTER_NAME'),
    });
  });
  test('a service without its settings names what is missing', () => {
    expect(inImage('launcher.js')).toMatchObject({
      status: 64,
      output: expect.stringContaining('--aws-region'),
    });
  });
  test('the command plans, with its bound, from files alone', () => {
    cpSync(join(root, 'examples'), join(app, 'examples'), { recursive: true });
    const { status, stdout } = inImage('cli.js', 'simulate', '-f', 'examples/web', '-o', 'json');
    expect({ status, cost: (JSON.parse(stdout) as { cost: object }).cost }).toMatchObject({
      status: 0,
      cost: { hourly: expect.any(Number), bound: expect.any(String) },
    });
  });
  test('carries the source map of every file of code', () => {
    const code = readdirSync(app).filter((file) => /\.m?js$/.test(file));
    expect(code.length).toBeGreaterThan(programs.length);
    expect(code.filter((file) => !existsSync(join(app, `${file}.map`)))).toEqual([]);
    expect(
      code.filter((file) => !textIn(file).endsWith(`//# sourceMappingURL=${basename(file)}.map\n`)),
    ).toEqual([]);
  });
  test('carries its own licence and the sources of the catalog', () => {
    expect(textIn('LICENSE')).toContain('Apache License');
    expect(textIn('NOTICE')).toContain('moto');
  });
});

/** The packages, as `name version`, that the source maps of a program tell of. */
function packagesIn(program: string): readonly string[] {
  const inputs = readdirSync(app)
    .filter((file) => file.startsWith(program) && file.endsWith('.map'))
    .flatMap((file) => (JSON.parse(textIn(file)) as { sources: string[] }).sources);
  const folders = inputs.flatMap(
    (input) => /(?:\.\.\/)+((?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+)/.exec(input)?.[1] ?? [],
  );
  return [...new Set(folders)].toSorted().map((folder) => {
    const { name, version } = JSON.parse(
      readFileSync(join(root, folder, 'package.json'), 'utf8'),
    ) as { readonly name: string; readonly version: string };
    return `${name} ${version}`;
  });
}

type Component = {
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly hashes: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses: readonly object[];
};

describe('every package in a bundle of the image', () => {
  const sbom = JSON.parse(textIn('sbom.cdx.json')) as {
    readonly bomFormat: string;
    readonly components: readonly Component[];
  };
  const listed = sbom.components.map(({ name, version }) => `${name} ${version}`);

  test.each(programs)('%s: is in the notices with its licence, and in the SBOM', (program) => {
    const packages = packagesIn(program);
    const notices = `\n${textIn(`${program}.notices.txt`)}`;
    expect(packages.length).toBeGreaterThan(0);
    expect(packages.filter((each) => !notices.includes(`\n${each} (`))).toEqual([]);
    expect(packages.filter((each) => !listed.includes(each))).toEqual([]);
    expect(notices).toMatch(/Permission is hereby granted|Apache License/);
  });
  test('and none that is not', () => {
    const bundled = new Set(programs.flatMap(packagesIn));
    expect(sbom.bomFormat).toBe('CycloneDX');
    expect(listed.filter((each) => !bundled.has(each))).toEqual([]);
  });
  test('has the digest that the lock file has for it, and a licence', () => {
    type Locked = { readonly version?: string; readonly integrity?: string };
    const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
      readonly packages: Readonly<Record<string, Locked>>;
    };
    const locked = new Set(
      Object.entries(lock.packages).map(
        ([path, { version, integrity }]) =>
          `${path.split('node_modules/').at(-1)} ${version} ${integrity}`,
      ),
    );
    const lineOf = ({ name, version, hashes: [hash] }: Component): string =>
      `${name} ${version} sha512-${Buffer.from(hash?.content ?? '', 'hex').toString('base64')}`;
    expect(sbom.components.filter((each) => !locked.has(lineOf(each)))).toEqual([]);
    expect(sbom.components.filter(({ licenses }) => licenses.length === 0)).toEqual([]);
  });
});

/** Whether a file goes to the builder. The last pattern that matches it, or its folder, counts. */
function isSent(path: string): boolean {
  const regexOf = (pattern: string): RegExp =>
    new RegExp(
      `^${pattern
        .replaceAll('.', '\\.')
        .replace(/\*\*\/|\*\*|\*/g, (stars) =>
          stars === '**/' ? '(.*/)?' : stars === '**' ? '.*' : '[^/]*',
        )}(/.*)?$`,
    );
  const last = linesOf('.dockerignore').findLast((line) =>
    regexOf(line.replace(/^!/, '')).test(path),
  );
  return last === undefined || last.startsWith('!');
}

describe('the build of the image', () => {
  test('is pinned: each base has a tag and a digest, which a build argument replaces', () => {
    const bases = wordsOf('ARG').flatMap(
      ([argument = '']) => /^(BUILDER|BASE)=\S+:\S+@sha256:[0-9a-f]{64}$/.exec(argument)?.[1] ?? [],
    );
    expect(bases).toEqual(['BUILDER', 'BASE']);
    expect(wordsOf('FROM')).toEqual([
      ['--platform=$BUILDPLATFORM', '$BUILDER', 'AS', 'build'],
      ['$BASE'],
    ]);
  });
  test('installs by the lock file, and runs nothing in the last stage', () => {
    expect(wordsOf('RUN')[0]?.slice(0, 3)).toEqual(['npm', 'ci', '--ignore-scripts']);
    expect(wordsOf('RUN', lastStage)).toEqual([]);
  });
  test('leaves the files to root, and runs them as somebody else', () => {
    expect(wordsOf('COPY', lastStage)).toEqual([['--from=build', '/src/dist/image', './']]);
    expect(wordsOf('USER', lastStage)).toEqual([['65532:65532']]);
    expect(wordsOf('WORKDIR', lastStage)).toEqual([['/app']]);
  });
  const files = trackedFiles('.');
  test('gets all manifests, and all sources of what is bundled', () => {
    const needed = files.filter(
      (file) =>
        /(^|\/)(package|package-lock|nx|tsconfig.*)\.json$/.test(file) ||
        /^(apps|libs|proto|tools)\/.*(?<!\.test)\.ts$/.test(file) ||
        file.endsWith('.proto'),
    );
    // Tests are not built.
    const configs = /^(tests|bench)\/.*tsconfig\.json$/;
    expect(needed.length).toBeGreaterThan(500);
    expect(needed.filter((file) => !isSent(file) && !configs.test(file))).toEqual([]);
  });
  test.each([
    'node_modules/nats/package.json',
    'libs/contracts/node_modules/x/index.js',
    'dist/launcher.js',
    'libs/contracts/gen/dovetail.js',
    '.git/config',
    '.nx/cache/x',
    '.lab/kubeconfig',
    '.env',
    'tests/e2e/helm.test.ts',
    'bench/results/scale.md',
  ])('does not get %s', (path) => expect(isSent(path)).toBe(false));
});
