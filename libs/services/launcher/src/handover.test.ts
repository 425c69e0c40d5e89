import { type KubeObject, kubeResources, Stopper } from '@dovetail/core-ports';
import { conditionsIn, isTrue } from '@dovetail/service-kit';
import { podObject } from '@dovetail/sim-stage';
import { afterEach, describe, expect, test } from 'vitest';

import { type LauncherStage, launcherStage } from './testing/launcher-stage.js';

let self: LauncherStage;
afterEach(() => {
  self.end();
});
const { nodeClaims, nodes, nodePools, ec2NodeClasses, pods } = kubeResources;

/** A stage with one ready node, and the way to depose the launcher that made it. */
async function bought(): Promise<() => void> {
  self = await launcherStage();
  await self.readyPool();
  const office = new Stopper();
  self.launcher('one', { office, config: { clusterCa: 'LS0t' } });
  await self.planningPossible();
  await self.kube.create(pods, podObject('a'));
  await self.until('the pod in view', () => self.planner.cluster.pods.size === 1);
  await self.planner.planFor(['a']);
  await self.launched();
  return () => office.abort();
}

function only<T>(all: readonly T[]): T {
  const [one, ...others] = all;
  if (one === undefined || others.length > 0) throw new Error(`${all.length} instead of one`);
  return one;
}
const claim = (): KubeObject => only(self.list(nodeClaims));
const number = expect.stringMatching(/^[0-9]+$/);
const profile = expect.stringMatching(/^lab_[0-9a-f]{20}$/);

/** Each row names a reader in Karpenter 1.14, and what it must find. */
describe('a node of Dovetail has what Karpenter reads of its own nodes', () => {
  test("drift: the claim has both hashes in Karpenter's versions, and pool and class have the same", async () => {
    await bought();
    const ofPool = {
      'karpenter.sh/nodepool-hash': number,
      'karpenter.sh/nodepool-hash-version': 'v3',
    };
    const ofClass = {
      'karpenter.k8s.aws/ec2nodeclass-hash': number,
      'karpenter.k8s.aws/ec2nodeclass-hash-version': 'v6',
    };
    const held = claim().metadata.annotations ?? {};
    expect(held).toMatchObject({ ...ofPool, ...ofClass });
    expect(only(self.list(nodePools)).metadata.annotations).toMatchObject({
      'karpenter.sh/nodepool-hash': held['karpenter.sh/nodepool-hash'],
    });
    expect(only(self.list(ec2NodeClasses)).metadata.annotations).toMatchObject({
      'karpenter.k8s.aws/ec2nodeclass-hash': held['karpenter.k8s.aws/ec2nodeclass-hash'],
    });
  });

  test('collection of instance profiles: the claim names the profile that the class has', async () => {
    await bought();
    const status = only(self.list(ec2NodeClasses))['status'] as { instanceProfile?: string };
    expect(status.instanceProfile).toEqual(profile);
    expect(claim().metadata.annotations).toMatchObject({
      'karpenter.k8s.aws/instance-profile-name': status.instanceProfile,
      'karpenter.k8s.aws/tagged': 'true',
    });
  });

  test('lifecycle: the claim has the conditions, the provider ID, the image and what the node holds', async () => {
    await bought();
    const conditions = conditionsIn(claim());
    for (const type of ['Launched', 'Registered', 'Initialized', 'Ready'])
      expect([type, isTrue(conditions, type)]).toEqual([type, true]);
    expect(claim()['status']).toMatchObject({
      nodeName: only(self.list(nodes)).metadata.name,
      providerID: `aws:///us-west-2a/${only(self.twin.instances.all()).id}`,
      imageID: expect.stringMatching(/^ami-/),
      capacity: { cpu: expect.any(String), memory: expect.any(String), pods: expect.any(String) },
      allocatable: { cpu: expect.any(String), memory: expect.any(String) },
    });
  });

  test('termination: claim, node and class have the finalizers, and each is owned as in Karpenter', async () => {
    await bought();
    const owner = (kind: string, { metadata: { name, uid } }: KubeObject): object => ({
      apiVersion: 'karpenter.sh/v1',
      kind,
      name,
      uid,
      blockOwnerDeletion: true,
    });
    expect(claim().metadata).toMatchObject({
      finalizers: ['karpenter.sh/termination'],
      ownerReferences: [owner('NodePool', only(self.list(nodePools)))],
    });
    expect(only(self.list(nodes)).metadata).toMatchObject({
      finalizers: expect.arrayContaining(['karpenter.sh/termination']),
      ownerReferences: [owner('NodeClaim', claim())],
    });
    expect(only(self.list(ec2NodeClasses)).metadata.finalizers).toEqual([
      'karpenter.k8s.aws/termination',
    ]);
  });

  test('the state of the cluster: claim and node have the labels of type, place, pool and class', async () => {
    await bought();
    const labels = {
      'karpenter.sh/nodepool': 'general',
      'karpenter.k8s.aws/ec2nodeclass': 'default',
      'karpenter.sh/capacity-type': 'on-demand',
      'node.kubernetes.io/instance-type': only(self.twin.instances.all()).instanceType,
      'topology.kubernetes.io/zone': 'us-west-2a',
      'topology.k8s.aws/zone-id': expect.stringMatching(/^usw2-az[0-9]$/),
      'kubernetes.io/arch': 'amd64',
      'kubernetes.io/os': 'linux',
    };
    expect(claim().metadata.labels).toMatchObject(labels);
    expect(only(self.list(nodes)).metadata.labels).toMatchObject({
      ...labels,
      'karpenter.sh/registered': 'true',
      'karpenter.sh/initialized': 'true',
    });
  });

  test('the list of instances, and the rights to end them: the instance has the tags', async () => {
    await bought();
    expect(only(self.twin.instances.all()).tags).toMatchObject({
      'kubernetes.io/cluster/lab': 'owned',
      'eks:eks-cluster-name': 'lab',
      'karpenter.sh/nodepool': 'general',
      'karpenter.k8s.aws/ec2nodeclass': 'default',
      'karpenter.sh/nodeclaim': claim().metadata.name,
      Name: only(self.list(nodes)).metadata.name,
    });
  });
});

const isOurs = (key: string): boolean => key.includes('dovetail.sh/');

/** Takes everything of Dovetail off the node, so that it looks as if Karpenter had made it. */
async function disguise(): Promise<void> {
  for (const [resource, object] of [
    [nodeClaims, claim()],
    [nodes, only(self.list(nodes))],
  ] as const) {
    const ours = Object.keys(object.metadata.annotations ?? {}).filter(isOurs);
    await self.kube.patch(
      { resource, name: object.metadata.name },
      {
        type: 'merge',
        body: { metadata: { annotations: Object.fromEntries(ours.map((key) => [key, null])) } },
      },
    );
  }
  self.twin.instances.retag(only(self.twin.instances.all()).id, (tags) =>
    Object.fromEntries(Object.entries(tags).filter(([key]) => !isOurs(key))),
  );
}

describe('a node that Karpenter made', () => {
  test('is kept as it is: nothing is launched or ended for it, and it has not drifted', async () => {
    const depose = await bought();
    depose();
    await disguise();
    const before = { claim: claim(), node: only(self.list(nodes)) };
    const instance = only(self.twin.instances.all());
    self.launcher('two', { config: { clusterCa: 'LS0t' } });
    // Drift is looked for every five minutes, and strays are known after two.
    await self.clock.advance(320_000);
    expect(only(self.twin.instances.all())).toMatchObject({ id: instance.id, state: 'running' });
    expect(claim().metadata.deletionTimestamp).toBeUndefined();
    expect(conditionsIn(claim()).find(({ type }) => type === 'Drifted')).toBeUndefined();
    expect([claim()['spec'], claim().metadata.labels]).toEqual([
      before.claim['spec'],
      before.claim.metadata.labels,
    ]);
    expect(only(self.list(nodes)).metadata.resourceVersion).toBe(
      before.node.metadata.resourceVersion,
    );
  });

  test('that is still to be launched is launched, once', async () => {
    self = await launcherStage();
    await self.readyPool();
    const pool = only(self.list(nodePools));
    await self.kube.create(nodeClaims, {
      metadata: {
        name: 'general-x7k2p',
        labels: { 'karpenter.sh/nodepool': 'general', 'karpenter.k8s.aws/ec2nodeclass': 'default' },
        finalizers: ['karpenter.sh/termination'],
        ownerReferences: [
          {
            apiVersion: 'karpenter.sh/v1',
            kind: 'NodePool',
            name: 'general',
            uid: pool.metadata.uid ?? '',
            blockOwnerDeletion: true,
          },
        ],
      },
      spec: {
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        requirements: [
          { key: 'karpenter.sh/nodepool', operator: 'In', values: ['general'] },
          { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
          {
            key: 'node.kubernetes.io/instance-type',
            operator: 'In',
            values: ['m5.large', 'c5.large'],
          },
        ],
        resources: { requests: { cpu: '1', memory: '1Gi', pods: '3' } },
        expireAfter: '720h',
      },
    });
    self.launcher('one');
    await self.until('a ready claim', () => isTrue(conditionsIn(claim()), 'Ready'), 120_000);
    expect(self.twin.instances.all()).toHaveLength(1);
    expect(claim().metadata.annotations).toMatchObject({
      'karpenter.k8s.aws/instance-profile-name': profile,
    });
  });
});
