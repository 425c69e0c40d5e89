import { claimValue } from '@dovetail/core-api/testing';
import { Cluster } from '@dovetail/core-cluster';
import { nodeValue, podValue } from '@dovetail/core-kube-model/testing';
import { type Clock, neverStopping } from '@dovetail/core-ports';
import { defaultPlanOptions } from '@dovetail/core-scheduling';
import { expect, test, vi } from 'vitest';

import { Checker } from './checker.js';

const catalog = { revision: 'r1', typesOf: () => new Map() };
/** A clock that stands still. */
const stoodAt = (nowMs: number): Clock => ({ nowMs: () => nowMs, sleep: () => Promise.resolve() });
const nodes = Array.from({ length: 200 }, (_, index) => nodeValue(`n${index}`));

test.each([
  ['soon after a look at all nodes', 999],
  ['later', 1_000],
])(
  'a question about one node costs a look at the one that has changed: %s',
  async (_when, nowMs) => {
    const cluster = new Cluster();
    for (const node of nodes) cluster.set('node', node);
    const checker = new Checker(cluster, catalog, defaultPlanOptions);
    await checker.nodesInTurns(stoodAt(0), neverStopping);
    cluster.set('pod', podValue('p', { nodeName: 'n7' }));
    const looks = vi.spyOn(cluster, 'claimOfNode');
    const around = await checker.nodesAround(nodeValue('n7'), stoodAt(nowMs), neverStopping);
    expect(looks).toHaveBeenCalledTimes(1);
    expect(around.flatMap(({ name, pods }) => pods.map((pod) => [name, pod.name]))).toEqual([
      ['n7', 'p'],
    ]);
  },
);

test('a node that has joined since the last look costs a look at that one, and its claim goes', async () => {
  const cluster = new Cluster();
  for (const node of nodes) cluster.set('node', node);
  cluster.set('claim', claimValue('c', { providerId: 'aws:///a/i-1' }));
  const checker = new Checker(cluster, catalog, defaultPlanOptions);
  const first = await checker.nodesInTurns(stoodAt(0), neverStopping);
  expect(first.map(({ name }) => name)).toContain('c');
  const joined = nodeValue('joined', { providerId: 'aws:///a/i-1' });
  cluster.set('node', joined);
  const looks = vi.spyOn(cluster.pods, 'by');
  const nodesAround = await checker.nodesAround(joined, stoodAt(1), neverStopping);
  const around = nodesAround.map(({ name }) => name);
  expect(around.toSorted()).toEqual([...nodes.map(({ name }) => name), 'joined'].toSorted());
  expect(new Set(looks.mock.calls.map(([, name]) => name))).toEqual(new Set(['joined']));
});

test('a first look pauses between any two nodes once it has worked for a turn, and looks queue up', async () => {
  const cluster = new Cluster();
  for (const node of nodes) cluster.set('node', node);
  const checker = new Checker(cluster, catalog, defaultPlanOptions);
  let nowMs = 0;
  let sincePause = 0;
  let most = 0;
  const looks = vi.spyOn(cluster, 'claimOfNode').mockImplementation(() => {
    nowMs += 25;
    most = Math.max(most, (sincePause += 1));
    return undefined;
  });
  const clock: Clock = {
    nowMs: () => nowMs,
    sleep: () => {
      sincePause = 0;
      return Promise.resolve();
    },
  };
  const first = checker.nodesInTurns(clock, neverStopping);
  const second = checker.nodesInTurns(clock, neverStopping);
  expect(await first).toHaveLength(nodes.length);
  expect(await second).toBe(await first);
  expect(looks).toHaveBeenCalledTimes(nodes.length);
  expect(most).toBe(2);
});
