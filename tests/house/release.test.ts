import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import {
  aptSettings,
  carried,
  fetchDebian,
  LeftOut,
  lockedAs,
  lockedVersions,
  manifestWith,
  otherVersions,
  packageNames,
  sectionOf,
  sourcesOf,
  take,
  valuesWith,
  versionFiles,
} from '@dovetail/tools/release';
import { describe, expect, test, vi } from 'vitest';
import { parse } from 'yaml';

/**
 * The release workflow cannot run here, so this compares what it names with what the repository
 * has.
 */
const root = join(import.meta.dirname, '..', '..');
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');
const text = textOf('.github/workflows/release.yaml');

type Step = {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: { readonly name?: string; readonly path?: string };
};
const { jobs, permissions } = parse(text) as {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<
    Record<
      string,
      { readonly steps: readonly Step[]; readonly permissions?: Readonly<Record<string, string>> }
    >
  >;
};
const steps = Object.values(jobs).flatMap((job) => job.steps);

describe('the release workflow', () => {
  test('may only read, and runs actions of one commit each', () => {
    const actions = steps.flatMap(({ uses }) => uses ?? []);
    expect(permissions).toEqual({ contents: 'read' });
    expect(actions.length).toBeGreaterThan(3);
    expect(actions.filter((action) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/.test(action))).toEqual([]);
  });
  test('runs the whole gate, and makes what it publishes by the command that anyone can run', () => {
    expect(jobs['check']?.steps.map(({ run }) => run)).toContain('.ci/run');
    expect(jobs['build']?.steps.flatMap(({ run }) => run ?? [])).toEqual([
      'sudo apt-get update && sudo apt-get install --yes debian-archive-keyring',
      'make release-check TAG="$GITHUB_REF_NAME" IMAGE_REPOSITORY="$IMAGE" SOURCE_REPOSITORY="$GITHUB_SERVER_URL/$GITHUB_REPOSITORY"',
    ]);
    expect(textOf('Makefile')).toMatch(/^release-check:.*\n\t@npx tsx tools\/release-check\.ts$/m);
    expect(existsSync(join(root, '.ci/run'))).toBe(true);
  });
  test('gives an identity only to the job that publishes, and writes only in the one after it', () => {
    const named = Object.entries(jobs).filter(([, job]) => job.permissions !== undefined);
    expect(named.map(([name, job]) => [name, job.permissions])).toEqual([
      ['publish', { contents: 'read', 'id-token': 'write' }],
      ['announce', { contents: 'write' }],
    ]);
  });
  test('makes a release of the repository, with every file that was kept of what is published', () => {
    const lines = (text = ''): readonly string[] => text.match(/\S+/g) ?? [];
    const kept = jobs['publish']?.steps.find((step) => step.with?.name === 'published')?.with?.path;
    const files = lines(kept).map((file) => file.replace('release/', 'published/'));
    expect(files).toContain('published/dovetail.mjs');
    const made = lines(jobs['announce']?.steps.at(-1)?.run);
    expect(made.slice(0, 3)).toEqual(['gh', 'release', 'create']);
    expect(files.filter((file) => !made.includes(file))).toEqual([]);
  });
  test('publishes both charts, and every package that can be installed, each packed by its own target', () => {
    expect(text).toContain('for chart in dovetail-crd dovetail; do');
    expect(text).toContain(`for package in ${packageNames.join(' ')}; do`);
    const folders = ['libs/contracts', 'libs/client', 'apps/cli'];
    const targets = folders.map((folder) => {
      const { nx } = JSON.parse(textOf(`${folder}/package.json`)) as {
        readonly nx: {
          readonly targets: Readonly<Record<string, { options: { command: string } }>>;
        };
      };
      return nx.targets['package']?.options.command;
    });
    expect(targets).toEqual(folders.map((folder) => `tsx tools/pack.ts ${folder}`));
  });
  test('signs what it publishes', () =>
    expect(steps.flatMap(({ run }) => run?.match(/\bcosign (?:sign|attest)[\w-]*/g) ?? [])).toEqual(
      ['cosign sign', 'cosign attest', 'cosign sign', 'cosign sign-blob'],
    ));
  test('names no registry of its own', () =>
    expect(text.match(/\b[\w-]+\.(io|com|dev|org)\b/g)).toEqual(null));
});

test.each(['https://host/owner/name', 'https://host/owner/name.git'])(
  'the packages name %s as their repository, as npm asks of a package with provenance',
  (repository) =>
    expect(JSON.parse(manifestWith('{ "name": "a", "version": "1.0.0" }', repository))).toEqual({
      name: 'a',
      version: '1.0.0',
      repository: { type: 'git', url: 'git+https://host/owner/name.git' },
    }),
);

describe('the version', () => {
  const { version } = JSON.parse(textOf('package.json')) as { readonly version: string };
  test('is the same in every place, the lock file and the pages among them', () => {
    expect(otherVersions(version)).toEqual([]);
    expect(versionFiles().length).toBeGreaterThan(40);
  });
  test('that differs in one place is told by the file', () =>
    expect(otherVersions('9.9.9')).toEqual(
      expect.arrayContaining([
        `package.json: ${version}`,
        `deploy/helm/dovetail/Chart.yaml: ${version}`,
        `deploy/docker/Dockerfile: ${version}`,
        `libs/runtime/src/version.ts: ${version}`,
        `apps/cli/src/program.ts: ${version}`,
        `docs/guides/install-on-eks.md: ${version}`,
        `package-lock.json: ${version}`,
      ]),
    ));
  test('changes in the lock file for our packages alone', () => {
    const lock = textOf('package-lock.json');
    expect(lockedAs(lock, version)).toBe(lock);
    const after = lockedAs(lock, '9.9.9');
    expect(new Set(lockedVersions(after))).toEqual(new Set(['9.9.9']));
    expect(after.match(/9\.9\.9/g)).toHaveLength(lockedVersions(lock).length);
  });
});

test.each(['pod-watcher', 'solver', 'launcher', 'reaper', 'console', 'sinks', 'cli'])(
  'an image without the source map or the licences of %s is no release',
  (program) =>
    expect(carried).toEqual(
      expect.arrayContaining([`app/${program}.js.map`, `app/${program}.notices.txt`]),
    ),
);

describe('the libraries of the image', () => {
  const source = { mirror: 'http://mirror', keyring: '/keys.gpg' };
  test("are taken from Debian's own sources, whatever those of the machine are", () => {
    expect(sourcesOf(source).split('\n')).toEqual([
      'deb [signed-by=/keys.gpg] http://mirror/debian bookworm main',
      'deb [signed-by=/keys.gpg] http://mirror/debian bookworm-updates main',
      'deb [signed-by=/keys.gpg] http://mirror/debian-security bookworm-security main',
      '',
    ]);
    expect(aptSettings('arm64', '/state')).toMatchObject({
      'Dir::Etc::sourcelist': '/state/sources.list',
      'Dir::Etc::sourceparts': '/dev/null',
      'Dir::Etc::preferencesparts': '/dev/null',
    });
    expect(textOf('deploy/docker/Dockerfile')).toContain('/nodejs24-debian12:');
  });
  test('are not taken without the keys that sign their lists', () =>
    expect(() => fetchDebian('amd64', root, { ...source, keyring: '/none.gpg' })).toThrow(
      "/none.gpg is missing, by which Debian's packages are checked: install debian-archive-keyring",
    ));
});

test.each([
  [false, 'left out'],
  [true, 'failed'],
])('a step that this machine cannot try, and is needed: %j, is %s', async (isNeeded, kind) => {
  const work = (): string => {
    throw new LeftOut('there is no image');
  };
  const written = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  expect(await take('image', work, { isNeeded })).toMatchObject({
    kind,
    text: 'there is no image',
  });
  written.mockRestore();
});

test.each([
  ['## Unreleased\n\n- one\n', undefined],
  [
    '## Unreleased\n\n## 1.2.3\n\n- one\n\n### More\n\n- two\n\n## 1.2.2\n\n- three\n',
    '- one\n\n### More\n\n- two',
  ],
  ['## [1.2.3] - 2026-11-27\n\n- one\n', '- one'],
  ['## 1.2.30\n\n- one\n', undefined],
  ['', undefined],
])('the notes of 1.2.3 in %j are %j', (changelog, notes) =>
  expect(sectionOf(changelog, '1.2.3')).toBe(notes),
);

test('the packaged chart names the image by its digest, or there is an error', () => {
  const values = textOf('deploy/helm/dovetail/values.yaml');
  const image = { repository: 'registry/dovetail', digest: 'sha256:1' };
  const after = parse(valuesWith(values, image)) as { readonly image: object };
  expect(after.image).toMatchObject(image);
  expect(() => valuesWith('image: {}\n', image)).toThrow('values.yaml has no image.repository');
});
