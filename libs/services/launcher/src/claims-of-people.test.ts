import { kubeResources } from '@dovetail/core-ports';
import { conditionsIn, isTrue } from '@dovetail/service-kit';
import { withoutList } from '@dovetail/sim-stage';
import { afterEach, describe, expect, test } from 'vitest';

import { type LauncherStage, launcherStage } from './testing/launcher-stage.js';

let self: LauncherStage;
afterEach(() => {
  self.end();
});
const { nodeClaims, nodes } = kubeResources;

/** A NodeClaim as a person applies it: no pool, no finalizer, no label but their own. */
const applied = (name: string, spec: object = {}): Promise<unknown> =>
  self.kube.create(nodeClaims, {
    metadata: { name, labels: { owner: 'alice' }, annotations: { 'example.com/why': 'trial' } },
    spec: {
      nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
      requirements: [
        { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
        { key: 'karpenter.k8s.aws/instance-family', operator: 'In', values: ['m5', 'c5'] },
        { key: 'team', operator: 'In', values: ['blue'] },
      ],
      taints: [{ key: 'trial', value: 'yes', effect: 'NoSchedule' }],
      resources: { requests: { cpu: '3', memory: '5Gi' } },
      expireAfter: 'Never',
      ...spec,
    },
  });

async function launching(): Promise<void> {
  self = await launcherStage();
  await self.readyPool();
  self.launcher('one');
  await self.planningPossible();
}

describe('a NodeClaim that a person creates without a pool', () => {
  test('is launched as the cheapest instance that holds it, and registered with its labels and taints', async () => {
    await launching();
    await applied('mine');
    const claim = await self.until('an initialised claim', async () => {
      const found = await self.kube.get({ resource: nodeClaims, name: 'mine' });
      return found !== undefined && isTrue(conditionsIn(found), 'Ready') && found;
    });
    expect(claim.metadata.finalizers).toEqual(['karpenter.sh/termination']);
    const [instance, ...others] = self.twin.instances.all();
    expect(others).toEqual([]);
    expect(instance).toMatchObject({ instanceType: 'c5.xlarge', capacityType: 'on-demand' });
    expect(Object.keys(instance?.tags ?? {})).not.toContain('karpenter.sh/nodepool');
    const [node] = await self.kube.list(nodes);
    expect(node?.metadata.labels).toMatchObject({
      owner: 'alice',
      team: 'blue',
      'karpenter.sh/registered': 'true',
      'karpenter.sh/initialized': 'true',
      'karpenter.sh/capacity-type': 'on-demand',
      'karpenter.k8s.aws/ec2nodeclass': 'default',
      'node.kubernetes.io/instance-type': 'c5.xlarge',
    });
    expect(Object.keys(node?.metadata.labels ?? {})).not.toContain('karpenter.sh/nodepool');
    expect(node?.metadata.annotations).toMatchObject({ 'example.com/why': 'trial' });
    expect(node?.['spec']).toMatchObject({
      taints: [{ key: 'trial', value: 'yes', effect: 'NoSchedule' }],
    });
    const told = self.log.lines.filter((line) => line.startsWith('info decision-'));
    expect(told.map((line) => line.split(' ')[1])).toEqual([
      'decision-launch',
      'decision-register',
      'decision-initialize',
    ]);
  });

  test('is deleted when no instance can hold it', async () => {
    await launching();
    await applied('huge', { resources: { requests: { cpu: '4000' } } });
    await self.until(
      'the claim to go',
      async () => (await self.kube.get({ resource: nodeClaims, name: 'huge' })) === undefined,
    );
    expect(self.events('InsufficientCapacityError')).not.toEqual([]);
    expect(self.twin.instances.all()).toEqual([]);
  });

  test('waits for its class, and says so', async () => {
    await launching();
    await self.kube.patch(
      { resource: kubeResources.ec2NodeClasses, name: 'default' },
      { type: 'merge', body: { spec: { subnetSelectorTerms: [{ id: 'subnet-0' }] } } },
    );
    await self.until('the class to be unready', async () => {
      const found = await self.kube.get({
        resource: kubeResources.ec2NodeClasses,
        name: 'default',
      });
      return found !== undefined && !isTrue(conditionsIn(found), 'Ready');
    });
    await applied('mine');
    await self.until('a reason', async () => {
      const found = await self.kube.get({ resource: nodeClaims, name: 'mine' });
      return (
        found !== undefined &&
        conditionsIn(found).some(({ reason }) => reason === 'NodeClassNotReady')
      );
    });
    expect(self.twin.instances.all()).toEqual([]);
  });
});

describe('a copy of a claim, as `kubectl get` and `apply` make it', () => {
  test('does not become the owner of the node that joins for its original', async () => {
    await launching();
    // EC2 gets the tag with the claim's name only once the claim has registered.
    self.twin.gate.fail({ action: 'ec2:CreateTags', code: 'RequestLimitExceeded', times: 1_000 });
    await applied('mine', { resources: { requests: { cpu: '1' } } });
    const paired = await self.until('an instance', async () => {
      const found = await self.kube.get({ resource: nodeClaims, name: 'mine' });
      return found?.metadata.annotations?.['dovetail.sh/instance-id'] !== undefined && found;
    });
    const { annotations = {}, labels = {}, finalizers = [] } = paired.metadata;
    // Ages are compared by the second.
    await self.advance(1_000);
    await self.kube.create(nodeClaims, {
      metadata: { name: 'a-copy', annotations, labels, finalizers },
      spec: paired['spec'],
    });
    const [node] = await self.until('a registered node', async () => {
      const found = await self.kube.list(nodes);
      return found.some((each) => each.metadata.labels?.['karpenter.sh/registered']) && found;
    });
    await self.advance(120_000);
    expect(node?.metadata.ownerReferences?.map(({ name }) => name)).toEqual(['mine']);
    const copy = await self.kube.get({ resource: nodeClaims, name: 'a-copy' });
    expect(copy !== undefined && conditionsIn(copy)).toEqual([]);
  });
});

test('a claim becomes a node although the watch of a kind that only planning reads never ends its first list', async () => {
  self = await launcherStage();
  await self.readyPool();
  const ports = { ...self.ports(), kube: withoutList(self, kubeResources.csiNodes) };
  self.launcher('one', { ports });
  await applied('mine');
  await self.until('an initialised claim', async () => {
    const found = await self.kube.get({ resource: nodeClaims, name: 'mine' });
    return found !== undefined && isTrue(conditionsIn(found), 'Ready');
  });
  expect(self.log.lines.filter((line) => line.includes('waiting-for-watches')).at(-1)).toMatch(
    /admission waits for the first lists of csinode /,
  );
});
