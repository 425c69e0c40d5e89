import { poolValue } from '@dovetail/core-api/testing';
import type { Resources } from '@dovetail/core-kube-model';
import { RecordingMetrics } from '@dovetail/sim-stage';
import { expect, test } from 'vitest';

import { PoolMetrics } from './pool-metrics.js';

const limited = poolValue('default', { limits: { cpu: 1_000 } });
const provisioner = {
  ...limited,
  uid: 'of-a-provisioner',
  identity: { ...limited.identity, kind: 'Provisioner' as const },
};

const of = (used: Resources): Parameters<PoolMetrics['show']>[1] => ({
  used,
  priceMicrosPerHour: 85_000,
});

test('amounts are in cores and bytes, and the price in dollars an hour', () => {
  const metrics = new RecordingMetrics();
  const shown = new PoolMetrics({ metrics });
  shown.show(limited, of({ cpu: 1_930, 'ephemeral-storage': 5, nodes: 1 }));
  for (const [type, amount] of [
    ['cpu', 1.93],
    ['ephemeral_storage', 5],
    ['nodes', 1],
  ] as const)
    expect(metrics.value('karpenter_nodepools_usage', { resource_type: type })).toBe(amount);
  expect(metrics.value('karpenter_nodepools_limit', { resource_type: 'cpu' })).toBe(1);
  expect(metrics.value('karpenter_nodepools_cost_total', { nodepool: 'default' })).toBe(0.085);
  shown.forget(limited.uid);
  expect(metrics.value('karpenter_nodepools_cost_total')).toBeUndefined();
});

test('a Provisioner with the name of a NodePool does not overwrite its usage', () => {
  const metrics = new RecordingMetrics();
  const shown = new PoolMetrics({ metrics });
  shown.show(limited, of({ cpu: 4_000 }));
  shown.show(provisioner, of({ cpu: 7_000 }));
  expect(metrics.value('karpenter_nodepools_usage', { nodepool: 'default' })).toBe(4);
  expect(metrics.value('karpenter_provisioner_usage', { provisioner: 'default' })).toBe(7);
});

test('a pool that is gone, and a limit that was lifted, are no longer shown', () => {
  const metrics = new RecordingMetrics();
  const shown = new PoolMetrics({ metrics });
  shown.show(limited, of({ cpu: 4_000 }));
  shown.show({ ...limited, limits: {} }, of({ cpu: 4_000 }));
  expect(metrics.value('karpenter_nodepools_limit')).toBeUndefined();
  expect(metrics.value('karpenter_nodepools_usage')).toBe(4);
  shown.forget(limited.uid);
  expect(metrics.value('karpenter_nodepools_usage')).toBeUndefined();
});
