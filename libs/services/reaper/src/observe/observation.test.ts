import { expect, test } from 'vitest';

import { cluster, reap, started } from '../testing/current-cluster.js';

const shown = (): number => cluster.metrics.scraped('karpenter_nodes_allocatable').length;

test('only a reaper that leads shows the state of nodes', async () => {
  await started();
  await cluster.node('n1');
  expect(shown()).toBe(0);
  const { stop } = reap();
  expect(await cluster.pass(25, () => shown() > 0)).toBe(true);
  stop.abort();
  expect(shown()).toBe(0);
});

test('the state of nodes can be left out', async () => {
  await started();
  await cluster.node('n1');
  reap({ config: { observesClusterState: false } });
  const isAsked = (): boolean =>
    cluster.metrics.value('karpenter_nodepools_allowed_disruptions') !== undefined;
  expect(await cluster.pass(25, isAsked)).toBe(true);
  expect(shown()).toBe(0);
});
