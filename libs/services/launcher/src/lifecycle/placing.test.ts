import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { annotations, parsePromise } from '@dovetail/core-api';
import { kubeResources, type KubeApi, type KubeObject } from '@dovetail/core-ports';
import { eventually, nodeClass, nodePool, planningPossible, podObject, readyPool, stage, type Stage } from '../testing/harness.js';

// Generous: they take a second or two, on a machine that does nothing else.
jest.setTimeout(60_000);
let self: Stage;
afterEach(async () => { await self.end(); });
const { pods, nodes, nodeClaims, nodePools, ec2NodeClasses, persistentVolumeClaims, storageClasses } = kubeResources;

const nodeNameOf = (pod: KubeObject | undefined): string => (pod?.['spec'] as { readonly nodeName?: string } | undefined)?.nodeName ?? '';
const podNamed = (name: string): Promise<KubeObject | undefined> => self.kube.get({ resource: pods, namespace: 'default', name });
const opened = (): Promise<KubeObject> => eventually('an open node', async () => (await self.kube.list(nodes)).find((node) =>
  node.metadata.labels?.['karpenter.sh/initialized'] === 'true' && node.metadata.annotations?.[annotations.placementCordon] === undefined));

async function pending(...objects: readonly KubeObject[]): Promise<void> {
  self = await stage();
  await readyPool(self);
  await planned(objects);
}

async function planned(objects: readonly KubeObject[]): Promise<void> {
  self.launcher('one');
  await planningPossible(self);
  await self.kube.create(storageClasses, { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name: 'waiting' }, provisioner: 'ebs.csi.aws.com', volumeBindingMode: 'WaitForFirstConsumer' });
  await self.kube.create(persistentVolumeClaims, {
    apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'data', namespace: 'default' },
    spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'waiting', resources: { requests: { storage: '1Gi' } } },
  });
  for (const object of objects) await self.kube.create(pods, object);
  await eventually('all of it in the solver\'s view', () => self.world.pods.size === objects.length && self.world.persistentVolumeClaims.size === 1 && self.world.storageClasses.size === 1);
}

// No scheduler runs on these stages: what is bound was bound by the launcher.
describe('pods whose place is the scheduler\'s to choose are left to it, and their neighbours are bound', () => {
  test.each([
    ['a volume that waits for its first consumer', { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] }],
    ['an ephemeral volume', { volumes: [{ name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'waiting', resources: { requests: { storage: '1Gi' } } } } } }] }],
    ['another scheduler', { schedulerName: 'their-own' }],
  ])('%s', async (_kind, spec) => {
    await pending(podObject('left', { spec }), podObject('neighbour'));
    const { plan } = await self.planFor(['left', 'neighbour']);
    expect(plan.newNodes.map((node) => node.podUids.length)).toEqual([2]);
    const node = await opened();
    expect(nodeNameOf(await podNamed('neighbour'))).toBe(node.metadata.name);
    expect(nodeNameOf(await podNamed('left'))).toBe('');
  });

  test.each([
    ['resource claims', { resourceClaims: [{ name: 'gpu', resourceClaimName: 'gpu' }] }, 'resource-claims'],
    ['a scheduling gate', { schedulingGates: [{ name: 'example.com/quota' }] }, 'scheduling-gate'],
  ])('%s: not even planned', async (_kind, spec, code) => {
    await pending(podObject('left', { spec }), podObject('neighbour'));
    const { plan } = await self.planFor(['left', 'neighbour']);
    expect(plan.unplaced.map(({ reasons }) => reasons.map((reason) => reason.code))).toEqual([[code]]);
    const node = await opened();
    expect(nodeNameOf(await podNamed('neighbour'))).toBe(node.metadata.name);
    expect(nodeNameOf(await podNamed('left'))).toBe('');
  });
});

describe('a node whose pods are bound', () => {
  test('stays closed until the watch shows the bindings, as until then kube-scheduler may take it for empty', async () => {
    self = await stage();
    await readyPool(self);
    let show = (): void => undefined;
    const shown = new Promise<void>((resolve) => { show = resolve; });
    async function* late<T>(events: AsyncIterable<T>): AsyncGenerator<T> {
      for await (const event of events) {
        // All that happens to the pod once a node is there is that it is bound.
        if ((await self.kube.list(nodes)).length > 0) await shown;
        yield event;
      }
    }
    const watch: KubeApi['watch'] = (watched, stop) => (watched.resource.plural === 'pods' ? late(self.kube.watch(watched, stop)) : self.kube.watch(watched, stop));
    self.launcher('one', { kube: { ...self.kube, watch } });
    await planningPossible(self);
    await self.kube.create(pods, podObject('a'));
    await eventually('the pod in the solver\'s view', () => self.world.pods.size === 1);
    await self.planFor(['a']);
    await eventually('the pod to be bound', async () => nodeNameOf(await podNamed('a')) !== '');
    await new Promise((resolve) => { setTimeout(resolve, 300); });
    expect((await self.kube.list(nodes)).map((node) => node.metadata.annotations?.[annotations.placementCordon] !== undefined)).toEqual([true]);
    show();
    expect((await opened()).metadata.name).toBe(nodeNameOf(await podNamed('a')));
  });
});

describe('a node that does not become usable', () => {
  test('is closed for five minutes; then it opens to everyone, and its pods are left to the scheduler', async () => {
    self = await stage();
    await self.kube.create(ec2NodeClasses, nodeClass());
    await self.kube.create(nodePools, nodePool('general', { node: { startupTaints: [{ key: 'example.com/cni', effect: 'NoSchedule' }] } }));
    await planned([podObject('a')]);
    await self.planFor(['a']);
    const closed = await eventually('a closed node', async () => (await self.kube.list(nodes)).find((node) => node.metadata.annotations?.[annotations.placementCordon] !== undefined));
    expect((closed['spec'] as { readonly unschedulable?: boolean }).unschedulable).toBe(true);
    self.clock.advance(5 * 60_000 + 1_000);
    const open = await eventually('an open node', async () => (await self.kube.list(nodes)).find((node) => node.metadata.annotations?.[annotations.placementCordon] === undefined));
    expect((open['spec'] as { readonly unschedulable?: boolean }).unschedulable).toBeUndefined();
    expect(open.metadata.labels?.['karpenter.sh/initialized']).toBeUndefined();
    expect(nodeNameOf(await podNamed('a'))).toBe('');
  });
});

describe('a bin that no longer holds', () => {
  test('what still fits is bound, and what does not is promised nothing any more, so that it is planned again', async () => {
    const names = ['a', 'b', 'c'];
    await pending(...names.map((name) => podObject(name, { cpu: '2500m' })));
    const intruded = self.beforePatch('nodes', async () => {
      const [node] = await self.kube.list(nodes);
      const { metadata: { uid = '' } } = await self.kube.create(pods, podObject('intruder', { cpu: '2500m' }));
      await self.kube.bind({ namespace: 'default', name: 'intruder', uid }, node?.metadata.name ?? '');
      await eventually('the intruder to be seen', () => [...self.world.pods.values()].some((pod) => pod.name === 'intruder' && pod.nodeName !== undefined));
    });
    const { plan } = await self.planFor(names);
    expect(plan.newNodes).toHaveLength(1);
    await intruded;
    const node = await opened();
    const placed = await Promise.all(names.map(podNamed));
    expect(placed.map(nodeNameOf).toSorted()).toEqual(['', node.metadata.name, node.metadata.name]);
    const [claim] = await self.kube.list(nodeClaims);
    const waiting = placed.find((pod) => nodeNameOf(pod) === '');
    expect(parsePromise(claim?.metadata.annotations?.[annotations.promise])?.podUids ?? []).not.toContain(waiting?.metadata.uid);
    self.planAlways();
    await eventually('the other to be bound to a node of its own', async () => nodeNameOf(await podNamed(waiting?.metadata.name ?? '')) !== '');
  });
});
