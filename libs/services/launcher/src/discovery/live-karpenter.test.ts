import { type KubeObject, kubeResources } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import { minute, open, self } from '../testing/faults.js';

const { leases } = kubeResources;
const name = 'karpenter-leader-election';

/** A Lease that is written as it was renewed at this time. */
const renewed = (at: string, leaseName = name): KubeObject => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: leaseName, namespace: 'kube-system' },
  spec: { holderIdentity: 'karpenter-7f', leaseDurationSeconds: 15, renewTime: at },
});
const renew = (at: string): Promise<unknown> =>
  self.kube.patch(
    { resource: leases, name, namespace: 'kube-system' },
    { type: 'merge', body: { spec: { renewTime: at } } },
  );
/** Whether it was warned of, by the log and by Events. */
const warned = (): readonly number[] => [
  self.said('karpenter-runs').length,
  self.events('KarpenterRuns').length,
];

test('a Karpenter that renews its Lease is warned of while it does, by whatever clock', async () => {
  await open();
  await self.kube.create(leases, renewed('1999-01-01T00:00:00.000000Z'));
  self.launcher('one');
  await self.advance(2 * minute);
  expect(warned()).toEqual([0, 0]);
  await renew('1999-01-01T00:00:10.000000Z');
  await self.advance(2 * minute);
  expect(warned()).toEqual([1, 1]);
  expect(self.events('KarpenterRuns')[0]).toBe(
    'Karpenter runs beside Dovetail, and renews Lease kube-system/karpenter-leader-election: scale its Deployment to 0: both launch for the same pods, and each retires nodes of the other',
  );
  expect(self.said('karpenter-stopped')).toHaveLength(1);
});

test('a Lease of another controller is none of Karpenter', async () => {
  await open();
  self.launcher('one');
  await self.advance(3 * minute);
  expect(warned()).toEqual([0, 0]);
});
