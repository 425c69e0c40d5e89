import { kubeResources } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import { cluster, reap, started } from './testing/current-cluster.js';

const { nodePools } = kubeResources;

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
