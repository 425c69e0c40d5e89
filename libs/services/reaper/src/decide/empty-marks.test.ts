import { kubeResources } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import { cluster, reap, started } from '../testing/current-cluster.js';

const provisioner = {
  apiVersion: 'karpenter.sh/v1alpha5',
  kind: 'Provisioner',
  metadata: { name: 'default' },
  spec: { requirements: [], ttlSecondsAfterEmpty: 60, providerRef: { name: 'default' } },
};
const [added, removed] = ['Added TTL to empty node', 'Removed emptiness TTL from node'];

/** How often each of the two Events was told. */
const counts = (): readonly (readonly [unknown, unknown])[] =>
  cluster
    .list(kubeResources.events)
    .filter((event) => String(event['reason']).startsWith('EmptinessTTL'))
    .map((event) => [event['message'], event['count']] as const)
    .toSorted(([one], [other]) => String(one).localeCompare(String(other)));

test("each change of a Provisioner's node is told once on the node, however often the reaper looks", async () => {
  await started();
  await cluster.kube.create(kubeResources.provisioners, provisioner);
  await cluster.node('n1', { poolKind: 'Provisioner' });
  reap();
  await cluster.pass(40);
  expect(counts()).toEqual([[added, 1]]);
  await cluster.scale('web', 1);
  await cluster.pass(40);
  expect(counts()).toEqual([
    [added, 1],
    [removed, 1],
  ]);
  // Within the two minutes in which a repeated Event is usually held back.
  await cluster.scale('web', 0);
  await cluster.pass(20);
  expect(counts()).toEqual([
    [added, 2],
    [removed, 1],
  ]);
});

test('a node of a NodePool, whose users know no such TTL, has no such Event', async () => {
  await started();
  await cluster.node('n1');
  reap();
  await cluster.pass(20);
  expect(cluster.log.entries.map(({ message }) => message)).toContain(added);
  expect(counts()).toEqual([]);
});
