import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

/**
 * The release workflow cannot run here, so this compares what it names with what the repository
 * has.
 */
const root = join(import.meta.dirname, '..', '..');
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');
const text = textOf('.github/workflows/release.yaml');

type Step = { readonly uses?: string; readonly run?: string };
const { jobs, permissions } = parse(text) as {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, { readonly steps: readonly Step[] }>>;
};
const steps = Object.values(jobs).flatMap((job) => job.steps);

describe('the release workflow', () => {
  test('may only read, and runs actions of one commit each', () => {
    const actions = steps.flatMap(({ uses }) => uses ?? []);
    expect(permissions).toEqual({ contents: 'read' });
    expect(actions.length).toBeGreaterThan(3);
    expect(actions.filter((action) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/.test(action))).toEqual([]);
  });
  test('runs the whole gate before it publishes', () =>
    expect(jobs['check']?.steps.map(({ run }) => run)).toContain('.ci/run'));
  test('publishes what is there', () => {
    const { version } = JSON.parse(textOf('package.json')) as { readonly version: string };
    const charts = ['dovetail', 'dovetail-crd'];
    for (const chart of charts)
      expect(textOf(`deploy/helm/${chart}/Chart.yaml`)).toContain(`\nversion: ${version}\n`);
    expect(textOf('deploy/docker/Dockerfile')).toContain(`\nARG VERSION=${version}\n`);
    expect(text).toContain('for chart in dovetail-crd dovetail; do');
    expect(text).toContain('--file deploy/docker/Dockerfile');
    expect(existsSync(join(root, '.ci/run'))).toBe(true);
  });
  test('publishes every package that can be installed, each packed by its own target', () => {
    const folders = ['libs/contracts', 'libs/adapters/nats', 'apps/cli'];
    const targets = folders.map((folder) => {
      const { nx } = JSON.parse(textOf(`${folder}/package.json`)) as {
        readonly nx: {
          readonly targets: Readonly<Record<string, { options: { command: string } }>>;
        };
      };
      return nx.targets['package']?.options.command;
    });
    expect(targets).toEqual(folders.map((folder) => `tsx tools/pack.ts ${folder}`));
    expect(text).toContain('for package in contracts adapter-nats cli; do');
    expect(text).toContain('npx nx run-many -t package\n');
  });
  test('names no registry of its own', () =>
    expect(text.match(/\b[\w-]+\.(io|com|dev|org)\b/g)).toEqual(null));
});
