import { publishState, streamName, subjects } from '@dovetail/contracts';
import { kubeResources } from '@dovetail/core-ports';
import { clusterName } from '@dovetail/sim-stage';
import { afterEach, describe, expect, test } from '@jest/globals';

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

describe('the state feed', () => {
  test('tells what the cluster has, and only what has changed in what planning reads', async () => {
    const { kube, watcher } = await ready();
    const uid = await stage.pod('a');
    await stage.advance(50);
    expect((await stage.held('pod')).get(uid)).toBe('a');
    const before = (await stage.bus.position(streamName(clusterName, 'state'))).lastSequence;
    await kube.patch(
      { resource: kubeResources.pods, namespace: 'default', name: 'a' },
      { type: 'merge', body: { metadata: { annotations: { unread: 'by anyone' } } } },
    );
    await stage.advance(50);
    expect((await stage.bus.position(streamName(clusterName, 'state'))).lastSequence).toBe(before);
    await kube.patch(
      { resource: kubeResources.pods, namespace: 'default', name: 'a' },
      { type: 'merge', body: { metadata: { labels: { app: 'web' } } } },
    );
    await stage.advance(50);
    expect((await stage.bus.position(streamName(clusterName, 'state'))).lastSequence).toBe(
      before + 1,
    );
    await stage.pod('b', { unschedulable: false });
    await stage.advance(50);
    await stage.unschedulable('b');
    await stage.advance(100);
    expect((await stage.bus.position(streamName(clusterName, 'state'))).lastSequence).toBe(
      before + 2,
    );
    expect(watcher.ready()).toEqual({ bus: true, kubernetes: true, watches: true });
    expect(watcher.debugState()).toMatchObject({ leading: true, epoch: 1, synced: true });
  });

  test('a deleted object becomes a tombstone', async () => {
    const { kube } = await ready();
    const uid = await stage.pool('default');
    await stage.advance(50);
    await kube.delete({ resource: kubeResources.nodePools, name: 'default' });
    await stage.advance(50);
    expect((await stage.held('pool')).get(uid)).toBe('gone');
  });

  test('a purged stream is told again, whole, within two seconds', async () => {
    await ready();
    const uids = [await stage.pod('a'), await stage.pod('b'), await stage.pool('default')];
    await stage.advance(50);
    stage.server.purgeStream(streamName(clusterName, 'state'));
    await stage.advance(2_000);
    const held = new Map([...(await stage.held('pod')), ...(await stage.held('pool'))]);
    expect(uids.map((uid) => held.get(uid))).toEqual(['a', 'b', 'default']);
    expect(stage.said('state-lost').length).toBeGreaterThan(0);
  });

  test('a deleted stream, and one message that somebody deleted, are told again', async () => {
    await ready();
    const uid = await stage.pod('a');
    await stage.advance(50);
    stage.server.deleteStream(streamName(clusterName, 'state'));
    await stage.advance(2_000);
    expect((await stage.held('pod')).get(uid)).toBe('a');
    const subject = subjects.state(clusterName, 'pod', uid);
    stage.server.streams
      .get(streamName(clusterName, 'state'))
      ?.remove(
        (await stage.bus.lastMessage(streamName(clusterName, 'state'), subject))?.sequence ?? 0,
      );
    await stage.advance(35_000);
    expect((await stage.held('pod')).get(uid)).toBe('a');
  }, 20_000);

  test('a bus that was down is told what happened meanwhile', async () => {
    await ready();
    await stage.advance(20);
    stage.server.stop();
    const uid = await stage.pod('a');
    await stage.advance(1_000);
    stage.server.start();
    await stage.advance(500);
    expect((await stage.held('pod')).get(uid)).toBe('a');
  });

  test('a successor says nothing again that still holds, and tells as gone what went in between', async () => {
    const { kube, watcher } = await ready();
    const stays = await stage.pod('stays');
    const goes = await stage.pod('goes');
    await stage.advance(50);
    watcher.end();
    await stage.advance(20);
    await kube.delete(
      { resource: kubeResources.pods, namespace: 'default', name: 'goes' },
      { gracePeriodSeconds: 0 },
    );
    const before = (await stage.bus.position(streamName(clusterName, 'state'))).lastSequence;
    stage.watcher(2);
    await stage.advance(2_000);
    const held = await stage.held('pod');
    expect([held.get(stays), held.get(goes)]).toEqual(['stays', 'gone']);
    expect((await stage.bus.position(streamName(clusterName, 'state'))).lastSequence).toBe(
      before + 1,
    );
  });

  test('a deposed leader that wakes says nothing over its successor', async () => {
    await ready();
    const uid = await stage.pod('a');
    await stage.advance(50);
    const told = stage.feed.find((event) => event.kind === 'record' && event.record.uid === uid);
    if (told?.kind !== 'record' || told.record.kind !== 'set' || told.record.state.kind !== 'pod')
      throw new Error('the pod was not told');
    await publishState(stage.channel, {
      ...told.record,
      generation: '9.0',
      state: { kind: 'pod', value: { ...told.record.state.value, labels: { by: 'successor' } } },
    });
    await stage.advance(1_500);
    const last = await stage.bus.lastMessage(
      streamName(clusterName, 'state'),
      subjects.state(clusterName, 'pod', uid),
    );
    expect(last?.sequence).toBe(
      (await stage.bus.position(streamName(clusterName, 'state'))).lastSequence,
    );
    expect(stage.said('deposed').length).toBeGreaterThan(0);
  });

  test('an object that cannot be read is named with field, value and remedy, and stays as it was known', async () => {
    const { kube } = await ready();
    const claim = await kube.create(kubeResources.nodeClaims, {
      metadata: { name: 'c', labels: { 'karpenter.sh/nodepool': 'default' } },
      spec: {
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        requirements: [],
      },
    });
    await stage.advance(50);
    await kube.patch(
      { resource: kubeResources.nodeClaims, name: 'c' },
      {
        type: 'merge',
        body: { metadata: { annotations: { 'dovetail.sh/planned': 'yesterday' } } },
      },
    );
    const pod = await stage.pod('a');
    await stage.advance(1_500);
    expect((await stage.held('claim')).get(claim.metadata.uid as string)).toBe('c');
    expect(stage.said('object-unreadable').map((line) => line.message)).toEqual([
      expect.stringMatching(
        /NodeClaim c: metadata\.annotations\[dovetail\.sh\/planned\] is .*yesterday.* write a time/,
      ),
    ]);
    expect(stage.metrics.value('dovetail_unreadable_objects_total')).toBe(1);
    expect(stage.batches).toMatchObject([{ podUids: [pod] }]);
  });

  test('definitions that are not installed are named and waited for; legacy ones need not be there', async () => {
    await begin({ crds: (file) => file.includes('nodeclaims') || file.includes('ec2nodeclasses') });
    const watcher = stage.watcher(1);
    await stage.advance(3_000);
    expect(watcher.ready()).toMatchObject({ watches: false });
    expect(
      stage
        .said('resource-not-served')
        .filter((line) => line.level === 'error')
        .map((line) => line.message),
    ).toEqual([expect.stringMatching(/nodepools\.karpenter\.sh; apply deploy\/crds/)]);
    await stage.installCrds((file) => file.includes('karpenter.sh_nodepools'));
    await stage.advance(3_000);
    expect(watcher.ready()).toMatchObject({ watches: true });
  });
});

test('a pod-watcher is ready once Kubernetes has answered, and while the bus is there', async () => {
  const { watcher } = await ready();
  stage.answered = false;
  expect(watcher.ready()).toEqual({ bus: true, kubernetes: false, watches: true });
  stage.answered = true;
  stage.server.stop();
  expect(watcher.ready()).toEqual({ bus: false, kubernetes: true, watches: true });
});

const ready = async (): ReturnType<PodWatcherStage['leader']> => (await begin()).leader();

/** A ReplicaSet that wants this many pods, and the metadata of a pod of its own. */
async function ownedByReplicaSet(replicas: number): Promise<object> {
  const template = {
    metadata: { labels: { app: 'web' } },
    spec: { containers: [{ name: 'main', image: 'pause' }] },
  };
  const owner = await stage.kube.create(kubeResources.replicaSets, {
    metadata: { name: 'web', namespace: 'default' },
    spec: { replicas, selector: { matchLabels: { app: 'web' } }, template },
  });
  return {
    ownerReferences: [
      {
        apiVersion: 'apps/v1',
        kind: 'ReplicaSet',
        name: 'web',
        uid: owner.metadata.uid,
        controller: true,
      },
    ],
  };
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

  test('a pod that is being deleted is not one that its owner has: its successor is waited for', async () => {
    await ready();
    const metadata = await ownedByReplicaSet(2);
    await stage.pod('leaving', {
      metadata: { ...metadata, finalizers: ['example.com/hold'] },
      spec: { nodeName: 'n1' },
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
