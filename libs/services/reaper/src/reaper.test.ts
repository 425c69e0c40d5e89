import { afterEach, expect, test } from '@jest/globals';
import { kubeResources } from '@dovetail/core-ports';
import { TestCluster } from './testing/cluster.js';

const { nodeClaims, nodes } = kubeResources;
let cluster: TestCluster;
afterEach(() => cluster.stop());

async function started(): Promise<TestCluster> {
  cluster = new TestCluster();
  await cluster.start();
  await cluster.nodePool('default', { consolidationPolicy: 'WhenEmpty', consolidateAfter: '30s', budgets: [{ nodes: '100%' }] });
  return cluster;
}

test('an empty node ends consolidateAfter after its last pod went: drained, terminated, finalizers dropped', async () => {
  await started();
  const { instanceId } = await cluster.node('n1');
  cluster.scale('web', 2);
  await cluster.pass(2);
  const { stop } = cluster.reaper();
  await cluster.pass(40);
  expect(cluster.names(nodes)).toEqual(['n1']);
  cluster.scale('web', 0);
  await cluster.pass(29);
  expect(cluster.find(nodeClaims, 'claim-n1')?.metadata.deletionTimestamp).toBeUndefined();
  expect(await cluster.pass(20, () => cluster.names(nodeClaims).length === 0)).toBe(true);
  expect(cluster.names(nodes)).toEqual([]);
  expect(cluster.twin.instances.get(instanceId).state).toBe('terminated');
  expect(cluster.events('DisruptionTerminating')).toEqual(expect.arrayContaining(['Disrupting Node: Empty']));
  stop.abort();
});
