import { publishState, streamName, subjects } from '@dovetail/contracts';
import { kubeResources } from '@dovetail/core-ports';
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
  });

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
