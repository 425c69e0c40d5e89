import { kubeResources } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import { cluster, reap, started } from './testing/current-cluster.js';

const { nodeClaims, nodePools } = kubeResources;

test('the budgets of a pool that is gone are no longer shown', async () => {
  await started();
  await cluster.node('n1');
  reap();
  const shown = (): number | undefined =>
    cluster.metrics.value('karpenter_nodepools_allowed_disruptions', { nodepool: 'default' });
  expect(await cluster.pass(25, () => shown() !== undefined)).toBe(true);
  await cluster.kube.delete({ resource: nodePools, name: 'default' }, { propagation: 'Orphan' });
  expect(await cluster.pass(25, () => shown() === undefined)).toBe(true);
});

test('the budgets of each reason are shown in lower case, and the nodes that use them up', async () => {
  await started({
    consolidationPolicy: 'WhenEmpty',
    consolidateAfter: 'Never',
    budgets: [{ nodes: '3' }, { nodes: '1', reasons: ['Unhealthy'] }],
  });
  for (const name of ['n1', 'n2', 'n3', 'n4']) await cluster.node(name);
  // A node that is going uses up one disruption of every reason.
  await cluster.kube.delete({ resource: nodeClaims, name: 'claim-n1' });
  reap();
  const shown = (metric: string, reason: string): number | undefined =>
    cluster.metrics.value(`karpenter_nodepools_${metric}`, { nodepool: 'default', reason });
  const allowed = 'allowed_disruptions';
  expect(await cluster.pass(25, () => shown(allowed, 'unhealthy') !== undefined)).toBe(true);
  const reasons = ['underutilized', 'empty', 'drifted', 'unhealthy'];
  expect(reasons.map((reason) => shown(allowed, reason))).toEqual([2, 2, 2, 0]);
  expect(reasons.map((reason) => shown('nodes_consuming_budgets', reason))).toEqual([1, 1, 1, 1]);
  expect(cluster.metrics.value(`karpenter_nodepools_${allowed}`, { reason: 'Unhealthy' })).toBe(
    undefined,
  );
});
