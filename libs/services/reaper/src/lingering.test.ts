import { annotations } from '@dovetail/core-api';
import { kubeResources } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import { cluster, decisions, gone, reap, started, stateOf } from './testing/current-cluster.js';

const { nodeClaims, nodes } = kubeResources;

/** A node with two pods, which is about to be deleted. */
async function leaving(): Promise<{ readonly instanceId: string }> {
  await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
  const made = await cluster.node('n1');
  await cluster.scale('web', 2);
  await cluster.pass(3);
  return made;
}

const conditionsOf = (name: string) =>
  (cluster.find(nodeClaims, name)?.['status'] as { readonly conditions: readonly object[] })
    .conditions;

test('a claim stays as long as others keep its Node, and says who does', async () => {
  const { instanceId } = await leaving();
  const keep = (finalizers: readonly string[]): Promise<unknown> =>
    cluster.kube.patch(
      { resource: nodes, name: 'n1' },
      { type: 'merge', body: { metadata: { finalizers } } },
    );
  await keep(['karpenter.sh/termination', 'example.com/keeper']);
  reap();
  await cluster.kube.delete({ resource: nodeClaims, name: 'claim-n1' });
  await cluster.node('n2');
  await cluster.pass(120);
  expect([stateOf(instanceId), cluster.find(nodes, 'n1')?.metadata.finalizers]).toEqual([
    'terminated',
    ['example.com/keeper'],
  ]);
  expect(conditionsOf('claim-n1')).toContainEqual(
    expect.objectContaining({
      type: 'InstanceTerminating',
      reason: 'InstanceTerminated',
      message: 'waiting for Node n1, which is kept by example.com/keeper',
    }),
  );
  expect((await decisions()).filter(({ kind }) => kind === 'terminate')).toHaveLength(1);
  await keep([]);
  expect(await cluster.pass(3, gone('claim-n1'))).toBe(true);
});

test('a claim that is deleted says so if its provider id names no instance of EC2', async () => {
  await leaving();
  const providerID = 'Provider:///us-west-2a/i-0123456789abcdef0';
  const ref = { resource: nodeClaims, name: 'claim-n1' };
  const unpaired = { metadata: { annotations: { [annotations.instanceId]: null } } };
  await cluster.kube.patch(ref, { type: 'merge', body: unpaired });
  const body = { status: { providerID } };
  await cluster.kube.patch(ref, { type: 'merge', body }, { subresource: 'status' });
  reap();
  await cluster.kube.delete(ref);
  await cluster.pass(5);
  const why = expect.stringMatching(
    `status.providerID is "${providerID}", which names no instance of EC2: .*remove the finalizer`,
  );
  expect(cluster.events('InstanceNotEnded')).toEqual([why]);
  expect(conditionsOf('claim-n1')).toContainEqual(
    expect.objectContaining({ type: 'InstanceTerminating', status: 'False', message: why }),
  );
});
