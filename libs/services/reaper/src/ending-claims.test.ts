import { present } from '@dovetail/core-invariant';
import { type KubeApi, kubeResources } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import { defaultReaperConfig } from './config.js';
import {
  cluster,
  gone,
  isDeleting,
  reap,
  started,
  stateOf,
  tainted,
} from './testing/current-cluster.js';

const { nodeClaims, nodes, nodePools, provisioners } = kubeResources;

describe('the instance of a claim', () => {
  const copyOf = async (name: string): Promise<void> => {
    const { metadata, ...original } = present(cluster.find(nodeClaims, name), 'the claim is there');
    const { labels = {}, annotations = {}, finalizers = [] } = metadata;
    const copied = { name: 'copy', labels, annotations, finalizers };
    await cluster.kube.create(nodeClaims, { ...original, metadata: copied });
  };

  test('outlives the end of a copy of its claim, with its pods', async () => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    const { instanceId } = await cluster.node('n1');
    await cluster.scale('web', 3);
    await cluster.pass(3);
    await copyOf('claim-n1');
    reap();
    await cluster.pass(2);
    await cluster.kube.delete({ resource: nodeClaims, name: 'copy' });
    expect(await cluster.pass(30, gone('copy'))).toBe(true);
    await cluster.pass(30);
    expect([stateOf(instanceId), tainted('n1'), cluster.workloads.nodesOf('web')]).toEqual([
      'running',
      false,
      ['n1'],
    ]);
    expect(cluster.events('InstanceNotEnded').join()).toContain('belongs to claim-n1');
  });

  test('outlives its claim when its tag names another cluster', async () => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    const { instanceId } = await cluster.node('n1');
    await cluster.pass(1);
    cluster.twin.tag([instanceId], { 'dovetail.sh/cluster-uid': 'another' });
    reap();
    await cluster.kube.delete({ resource: nodeClaims, name: 'claim-n1' });
    await cluster.pass(120);
    expect([stateOf(instanceId), isDeleting('claim-n1')]).toEqual(['running', true]);
    expect(cluster.events('InstanceNotEnded').join()).toContain('another cluster');
  });
});

test('deleting a Provisioner ends its nodes, and leaves those of a NodePool of the same name', async () => {
  await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
  await cluster.kube.create(provisioners, {
    apiVersion: 'karpenter.sh/v1alpha5',
    kind: 'Provisioner',
    metadata: { name: 'default' },
    spec: { requirements: [], providerRef: { name: 'default' } },
  });
  await cluster.node('n1', { poolKind: 'Provisioner' });
  await cluster.node('n2');
  reap();
  await cluster.pass(3);
  await cluster.kube.delete({ resource: provisioners, name: 'default' });
  expect(await cluster.pass(60, gone('claim-n1'))).toBe(true);
  expect([cluster.names(nodes), cluster.runningInstances().length]).toEqual([['n2'], 1]);
});

test('a pool that cannot be read costs no reads for each look at its nodes, and its deletion is followed', async () => {
  await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
  await cluster.node('n1');
  let reads = 0;
  const get: KubeApi['get'] = (ref) => {
    if (ref.resource === nodePools) reads += 1;
    return cluster.kube.get(ref);
  };
  const odd = { template: { spec: { requirements: 7 } } };
  const watch: KubeApi['watch'] = (watched, stop) => {
    const { resource, project } = watched;
    return resource === nodePools
      ? cluster.kube.watch({ ...watched, project: (one) => project({ ...one, spec: odd }) }, stop)
      : cluster.kube.watch(watched, stop);
  };
  reap({ kube: { ...cluster.kube, get, watch } });
  await cluster.scale('web', 3);
  await cluster.pass(30);
  expect([reads, isDeleting('claim-n1')]).toEqual([0, false]);
  await cluster.kube.delete({ resource: nodePools, name: 'default' });
  await cluster.scale('web', 4);
  expect(await cluster.pass(10, () => isDeleting('claim-n1'))).toBe(true);
});

test('a claim that has no node yet says so in an Event', async () => {
  await started();
  await cluster.node('n1');
  await cluster.kube.patch(
    { resource: nodeClaims, name: 'claim-n1' },
    {
      type: 'merge',
      body: { status: { providerID: 'aws:///us-west-2a/i-0aaaaaaaaaaaaaaaa', nodeName: null } },
    },
    { subresource: 'status' },
  );
  reap();
  await cluster.pass(3);
  expect(cluster.events('DisruptionBlocked')).toContain(
    'Nodeclaim does not have an associated node',
  );
});

test('terminations are capped per minute; each instance that waits has its own turn, told once', async () => {
  await started({
    consolidationPolicy: 'WhenEmpty',
    consolidateAfter: '0s',
    budgets: [{ nodes: '100%' }],
  });
  const names = ['n1', 'n2', 'n3', 'n4', 'n5'];
  for (const name of names) await cluster.node(name);
  reap({
    config: { termination: { ...defaultReaperConfig.termination, terminationsPerMinute: 2 } },
  });
  const running = () => cluster.runningInstances().length;
  const capped = () => cluster.metrics.value('dovetail_terminations_capped_total');
  const told = () => cluster.log.entries.filter(({ name }) => name === 'terminations-capped');
  await cluster.pass(40);
  expect([running(), capped(), told().length]).toEqual([3, 3, 1]);
  expect(await cluster.pass(40, () => running() === 1)).toBe(true);
  expect(await cluster.pass(70, () => running() === 0)).toBe(true);
  expect(capped()).toBe(3);
  const ended = cluster.metrics.samples.filter(
    ({ metric }) => metric === 'karpenter_nodes_terminated_total',
  );
  expect(new Set(ended.map(({ labels }) => labels['zone']))).toEqual(new Set(['us-west-2a']));
});
