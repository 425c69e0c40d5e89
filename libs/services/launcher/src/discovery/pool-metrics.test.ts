import { poolValue } from '@dovetail/core-api/testing';
import { RecordingMetrics } from '@dovetail/sim-stage';
import { expect, test } from 'vitest';

import { PoolMetrics } from './pool-metrics.js';

const limited = poolValue('default', { limits: { cpu: 1_000 } });
const provisioner = {
  ...limited,
  uid: 'of-a-provisioner',
  identity: { ...limited.identity, kind: 'Provisioner' as const },
};

test('a Provisioner with the name of a NodePool does not overwrite its usage', () => {
  const metrics = new RecordingMetrics();
  const shown = new PoolMetrics({ metrics });
  shown.show(limited, { cpu: 4 });
  shown.show(provisioner, { cpu: 7 });
  expect(metrics.value('karpenter_nodepools_usage', { nodepool: 'default' })).toBe(4);
  expect(metrics.value('karpenter_provisioner_usage', { provisioner: 'default' })).toBe(7);
});

test('a pool that is gone, and a limit that was lifted, are no longer shown', () => {
  const metrics = new RecordingMetrics();
  const shown = new PoolMetrics({ metrics });
  shown.show(limited, { cpu: 4 });
  shown.show({ ...limited, limits: {} }, { cpu: 4 });
  expect(metrics.value('karpenter_nodepools_limit')).toBeUndefined();
  expect(metrics.value('karpenter_nodepools_usage')).toBe(4);
  shown.forget(limited.uid);
  expect(metrics.value('karpenter_nodepools_usage')).toBeUndefined();
});
