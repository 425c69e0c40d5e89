import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { untilNothingLeft, untilRunning } from '@dovetail/test-support/cluster';
import { ranCommand } from '@dovetail/test-support/command';
import { eventually, openWorld, type TestWorld } from '@dovetail/test-support/world';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** The output that docs/guides/try-it.md shows, compared with that of its commands. */
const root = join(import.meta.dirname, '..', '..');
const guide = await readFile(join(root, 'docs/guides/try-it.md'), 'utf8');
const [, shown = ''] = /^```text\n(TIME[^]*?)^```$/m.exec(guide) ?? [];

/**
 * The shapes of the lines: without what differs from run to run. How many pods a batch holds
 * differs, too, for a slow machine creates the twenty pods in more than one batch.
 */
const shapes = (table: string): readonly string[] => [
  ...new Set(
    table
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('TIME'))
      .map((line) =>
        line
          .replace(/^\S+Z/, 'time')
          .replaceAll(/default-[0-9a-f]{12}/g, 'claim')
          .replaceAll(/\bi-[0-9a-f]{17}/g, 'instance')
          .replaceAll(/\bip-[\d-]+/g, 'ip')
          .replaceAll(/us-west-2[a-d]\b/g, 'zone')
          .replaceAll(/\([^()]*×[^()]*\)/g, '(types)')
          .replaceAll(/\b[a-z]\w+\.\d*[a-z]+\b(?=[, ])/g, 'type')
          .replaceAll(/\d+(\.\d+)?s?\b/g, 'number')
          .replaceAll(/(node|pod)s\b/g, '$1')
          .replaceAll(/ {2,}/g, '  ')
          .trim(),
      ),
  ),
];

describe('the guide to a first try', () => {
  let at: TestWorld;
  const decisions = async (...args: readonly string[]): Promise<string> => {
    const where = ['--nats', at.lab.natsUrl, '--cluster', 'lab'];
    const ended = await ranCommand({
      name: 'cli',
      folder: root,
      args: ['decisions', ...where, ...args],
    });
    expect(ended).toMatchObject({ code: 0 });
    return ended.output;
  };
  beforeAll(async () => {
    at = await openWorld({ world: 'twin', region: 'us-west-2', clusterName: 'lab' });
    await at.kubectl('apply', '-f', join(root, 'examples/inflate.yaml'));
    await at.kubectl('wait', 'nodepool/default', '--for=condition=Ready', '--timeout=90s');
  });
  afterAll(async () => at?.close());

  test('shows the decisions as they are told', async () => {
    await at.kubectl('scale', 'deployment/inflate', '--replicas=20');
    await untilRunning(at, 'default', 20, 120_000);
    await at.kubectl('scale', 'deployment/inflate', '--replicas=0');
    await untilNothingLeft(at, 120_000);
    const wanted = shapes(shown);
    expect(wanted).toHaveLength(8);
    const all = await eventually('every line that the guide shows', async () => {
      const table = await decisions();
      const told = new Set(shapes(table));
      expect(wanted.filter((shape) => !told.has(shape))).toEqual([]);
      return table;
    });
    const [head] = all.split('\n');
    expect(head?.split(/ {2,}/)).toEqual(shown.split('\n')[0]?.split(/ {2,}/));
  });
});
