import { streamName, subjects } from '@dovetail/contracts';
import { annotations, renderPromise } from '@dovetail/core-api';
import { type KubeObject, kubeResources } from '@dovetail/core-ports';
import { clusterName } from '@dovetail/sim-stage';
import { afterEach, describe, expect, test } from 'vitest';

import { PodWatcherStage } from './testing/pod-watcher-stage.js';

let stage: PodWatcherStage;

const begin = async (
  options: { readonly crds?: (file: string) => boolean } = {},
): Promise<PodWatcherStage> => {
  stage = await new PodWatcherStage(options).begin();
  return stage;
};

afterEach(() => {
  expect(stage.said('died')).toEqual([]);
  stage.end();
});

const ready = async (): ReturnType<PodWatcherStage['leader']> => (await begin()).leader();

/** A ReplicaSet that wants this many pods, and the metadata of a pod of its own. */
async function ownedByReplicaSet(replicas: number): Promise<object> {
  const owner = await replicaSet(replicas);
  return ownedBy(owner.metadata.uid ?? '');
}

/** The metadata of a pod of the ReplicaSet with this UID. */
const ownedBy = (uid: string): object => ({
  ownerReferences: [
    { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid, controller: true },
  ],
});

async function replicaSet(replicas: number): Promise<KubeObject> {
  const template = {
    metadata: { labels: { app: 'web' } },
    spec: { containers: [{ name: 'main', image: 'pause' }] },
  };
  return stage.kube.create(kubeResources.replicaSets, {
    metadata: { name: 'web', namespace: 'default' },
    spec: { replicas, selector: { matchLabels: { app: 'web' } }, template },
  });
}

describe('batches', () => {
  test('a lone pod leaves soon, named with what the feed must hold for it to be known', async () => {
    await ready();
    const uid = await stage.pod('a');
    await stage.advance(60);
    expect(stage.batches).toMatchObject([{ podUids: [uid], round: '1.1' }]);
    const last = await stage.bus.lastMessage(
      streamName(clusterName, 'state'),
      subjects.state(clusterName, 'pod', uid),
    );
    const [batch] = stage.batches;
    expect(batch?.statePosition.sequence).toBeGreaterThanOrEqual(last?.sequence ?? Infinity);
    expect(batch?.statePosition.incarnation).toBe(
      (await stage.bus.position(streamName(clusterName, 'state'))).incarnation,
    );
  });

  test('pods that keep arriving leave together once they stop, and never later than a second', async () => {
    await ready();
    for (let index = 0; index < 40; index += 1) {
      await stage.pod(`p${String(index)}`);
      await stage.advance(30);
    }
    await stage.advance(100);
    expect(stage.batches.length).toBe(1);
    expect(stage.batches[0]?.podUids.length).toBeGreaterThan(20);
    expect(stage.batches[0]?.podUids.length).toBeLessThan(40);
  });

  test('an owner is waited for while its replicas come, and no longer', async () => {
    await ready();
    const metadata = await ownedByReplicaSet(3);
    for (const name of ['a', 'b']) await stage.pod(name, { metadata });
    await stage.advance(900);
    expect(stage.batches).toHaveLength(0);
    await stage.pod('c', { metadata });
    await stage.advance(15);
    expect(stage.batches).toMatchObject([
      { podUids: expect.arrayContaining([expect.any(String)]) },
    ]);
    expect(stage.batches[0]?.podUids).toHaveLength(3);
  });

  test.each([
    ['a pod', false],
    ['a pod that was promised its room', true],
  ])(
    '%s is not one that its owner has once it is being deleted: its successor is waited for',
    async (_what, isPromised) => {
      await ready();
      const metadata = await ownedByReplicaSet(2);
      const leaving = await stage.pod('leaving', {
        metadata: { ...metadata, finalizers: ['example.com/hold'] },
        spec: { nodeName: 'n1' },
      });
      const promise = renderPromise({ podUids: [leaving], admission: '1.1' });
      if (isPromised)
        await stage.kube.create(kubeResources.nodes, {
          metadata: { name: 'n1', annotations: { [annotations.promise]: promise } },
        });
      await stage.kube.delete({
        resource: kubeResources.pods,
        namespace: 'default',
        name: 'leaving',
      });
      await stage.pod('first', { metadata });
      await stage.advance(15);
      expect(stage.batches).toHaveLength(0);
      await stage.pod('second', { metadata });
      await stage.advance(15);
      expect(stage.batches.map((batch) => batch.podUids.length)).toEqual([2]);
    },
  );

  test('a ReplicaSet that is not seen yet is waited for a second: its watch may lag behind that of its pods', async () => {
    await ready();
    const early = await stage.pod('a', { metadata: ownedBy('not-seen-yet') });
    await stage.advance(900);
    expect(stage.batches).toHaveLength(0);
    await stage.advance(200);
    expect(stage.batches).toMatchObject([{ podUids: [early] }]);
  });

  test('an owner with more pods than it wanted when it was last seen is waited for: it wants more now', async () => {
    await ready();
    const owner = await replicaSet(1);
    const metadata = ownedBy(owner.metadata.uid ?? '');
    for (const name of ['a', 'b']) await stage.pod(name, { metadata });
    await stage.advance(900);
    expect(stage.batches).toHaveLength(0);
    await stage.kube.patch(
      { resource: kubeResources.replicaSets, namespace: 'default', name: 'web' },
      { type: 'merge', body: { spec: { replicas: 3 } } },
    );
    await stage.pod('c', { metadata });
    await stage.advance(15);
    expect(stage.batches.map((batch) => batch.podUids.length)).toEqual([3]);
  });

  test('an owner that makes no more pods is waited for a second', async () => {
    await ready();
    const metadata = await ownedByReplicaSet(3);
    const uid = await stage.pod('a', { metadata });
    await stage.advance(1_100);
    expect(stage.batches).toMatchObject([{ podUids: [uid] }]);
  });

  test('pods that are bound, gated, daemons or not yet looked at by the scheduler are left alone', async () => {
    await ready();
    await stage.pod('fresh', { unschedulable: false });
    await stage.pod('daemon', {
      metadata: {
        ownerReferences: [
          { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd', controller: true },
        ],
      },
    });
    await stage.pod('gated', { spec: { schedulingGates: [{ name: 'wait' }] } });
    await stage.pod('bound', { spec: { nodeName: 'n1' } });
    await stage.advance(1_500);
    expect(stage.batches).toEqual([]);
  });

  test('an equal pod that came after one without a place is not waited for', async () => {
    await ready();
    await stage.pod('before', { unschedulable: false });
    const needy = [await stage.pod('one'), await stage.pod('two', { unschedulable: false })];
    await stage.pod('other', { unschedulable: false, spec: { nodeSelector: { zone: 'x' } } });
    await stage.advance(60);
    expect(stage.batches.map((batch) => batch.podUids.toSorted())).toEqual([needy.toSorted()]);
  });

  test('pods of pools that share nothing are batches of their own', async () => {
    await ready();
    await stage.pool('red', { taints: [{ key: 'red', value: 'true', effect: 'NoSchedule' }] });
    await stage.pool('blue', { taints: [{ key: 'blue', value: 'true', effect: 'NoSchedule' }] });
    await stage.advance(20);
    for (const colour of ['red', 'blue']) {
      await stage.pod(colour, {
        spec: {
          nodeSelector: { 'karpenter.sh/nodepool': colour },
          tolerations: [{ key: colour, operator: 'Exists' }],
        },
      });
    }
    await stage.advance(80);
    expect(stage.batches.map((batch) => batch.podUids.length)).toEqual([1, 1]);
    expect(new Set(stage.batches.map((batch) => batch.group)).size).toBe(2);
  });

  test('a pod that the bus does not take holds up no other group, and its own for ten seconds', async () => {
    await ready();
    for (const colour of ['red', 'blue'])
      await stage.pool(colour, { taints: [{ key: colour, value: 'true', effect: 'NoSchedule' }] });
    await stage.advance(20);
    const ofPool = (colour: string): { readonly spec: object } => ({
      spec: {
        nodeSelector: { 'karpenter.sh/nodepool': colour },
        tolerations: [{ key: colour, operator: 'Exists' }],
      },
    });
    const refused = await stage.pod('red-1', { ...ofPool('red'), unschedulable: false });
    stage.isRefused = (subject) => subject === subjects.state(clusterName, 'pod', refused);
    await stage.unschedulable('red-1');
    const red = await stage.pod('red-2', ofPool('red'));
    const blue = await stage.pod('blue', ofPool('blue'));
    await stage.advance(500);
    expect(stage.batches.map(({ podUids }) => podUids)).toEqual([[blue]]);
    await stage.advance(11_000);
    expect(stage.batches.map(({ podUids }) => podUids)).toContainEqual([red]);
    expect(stage.said('batch-incomplete')).not.toEqual([]);
  });

  test('nothing is batched before every watch has seen everything', async () => {
    await begin({ crds: (file) => !file.includes('nodeclaims') });
    stage.watcher(1);
    await stage.pod('a');
    await stage.advance(1_500);
    expect(stage.batches).toEqual([]);
  });

  test('a queue that was lost gets the batch again', async () => {
    await ready();
    const uid = await stage.pod('a');
    await stage.advance(60);
    stage.server.deleteStream(streamName(clusterName, 'pending'));
    await stage.advance(6_000);
    expect(stage.batches.map((batch) => batch.podUids)).toEqual([[uid], [uid]]);
    expect(stage.batches.map((batch) => batch.round)).toEqual(['1.1', '1.2']);
  });
});
