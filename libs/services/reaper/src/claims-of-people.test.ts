import { kubeResources } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import {
  cluster,
  gone,
  isDeleting,
  reap,
  replacements,
  started,
  stateOf,
} from './testing/current-cluster.js';

/** A node of a claim that a person has made without a pool. */
async function ownNode(expireAfterMs?: number): Promise<string> {
  await started();
  const { instanceId } = await cluster.node(
    'n1',
    expireAfterMs === undefined ? {} : { expireAfterMs },
  );
  for (const [resource, name] of [
    [kubeResources.nodeClaims, 'claim-n1'],
    [kubeResources.nodes, 'n1'],
  ] as const)
    await cluster.kube.patch(
      { resource, name },
      {
        type: 'merge',
        body: { metadata: { labels: { 'karpenter.sh/nodepool': null }, ownerReferences: null } },
      },
    );
  return instanceId;
}

test('the node of a claim without a pool stays while it is empty: no pool says when it may go', async () => {
  await ownNode();
  reap();
  await cluster.advance(3_600_000);
  expect(isDeleting('claim-n1')).toBe(false);
});

test('the node of a claim without a pool ends when a person deletes the claim, and its pods move', async () => {
  const id = await ownNode();
  await cluster.scale('web', 2);
  await cluster.pass(3);
  const made = replacements({ afterMs: 3_000 });
  reap();
  await cluster.pass(2);
  await cluster.kube.delete({ resource: kubeResources.nodeClaims, name: 'claim-n1' });
  expect(await cluster.pass(90, gone('claim-n1'))).toBe(true);
  await cluster.pass(5);
  expect([stateOf(id), made.made, cluster.workloads.broken]).toEqual(['terminated', ['new-1'], []]);
});

test('the node of a claim without a pool expires as any other', async () => {
  await ownNode(600_000);
  reap();
  await cluster.advance(590_000);
  expect(isDeleting('claim-n1')).toBe(false);
  expect(await cluster.pass(60, gone('claim-n1'))).toBe(true);
});
