import { publishState } from '@dovetail/contracts';
import { annotations, renderPromise } from '@dovetail/core-api';
import { kubeResources } from '@dovetail/core-ports';
import { afterEach, describe, expect, test } from 'vitest';

import { PodWatcherStage } from './testing/pod-watcher-stage.js';

let stage: PodWatcherStage;
const ready = async (): ReturnType<PodWatcherStage['leader']> => {
  stage = await new PodWatcherStage().begin();
  return stage.leader();
};
afterEach(() => {
  expect(stage.said('died')).toEqual([]);
  stage.end();
});

describe('verdicts', () => {
  test('pods that were told one after the other that no pool holds them are one batch once one does', async () => {
    await ready();
    const uids: string[] = [];
    for (const name of ['a', 'b', 'c']) {
      uids.push(await stage.pod(name));
      await stage.advance(60);
      for (const uid of uids.slice(-1)) await stage.verdict(uid, 'unplaced');
      await stage.advance(60);
    }
    const before = stage.batches.length;
    await stage.pool('red', {});
    await stage.advance(1_000);
    expect(stage.batches.slice(before).map(({ podUids }) => podUids.toSorted())).toEqual([
      uids.toSorted(),
    ]);
  });

  test('a refused pod comes back in the next round, and later each time', async () => {
    await ready();
    const uid = await stage.pod('a');
    await stage.advance(60);
    await stage.verdict(uid, 'refused');
    await stage.advance(100);
    expect(stage.batches.map((batch) => batch.podUids)).toEqual([[uid], [uid]]);
  });

  test('a pod that the checker refuses for itself is planned alone after a minute, and later each time', async () => {
    await ready();
    const [hostile, other] = [await stage.pod('a'), await stage.pod('b')];
    await stage.advance(60);
    const refused = {
      reasons: [{ code: 'constraint-broken', message: '', values: { podUid: hostile } }],
    } as const;
    await stage.verdict(hostile, 'unplaced', { planId: 'p1', ...refused });
    await stage.verdict(other, 'refused', { planId: 'p1', ...refused });
    await stage.advance(100);
    expect(stage.batches.slice(1).map((batch) => batch.podUids)).toEqual([[other]]);
    await stage.pool('red', {});
    await stage.advance(65_000);
    const later = stage.batches.slice(2).filter(({ podUids }) => podUids.includes(hostile));
    expect(later.map(({ group, podUids }) => [group, podUids])).toEqual([
      [`pod ${hostile}`, [hostile]],
    ]);
    await stage.verdict(hostile, 'unplaced', { planId: 'p2', ...refused });
    const before = stage.batches.length;
    await stage.advance(110_000);
    const again = stage.batches.slice(before).filter(({ podUids }) => podUids.includes(hostile));
    expect(again).toEqual([]);
  });

  test('a verdict that is told again says nothing new', async () => {
    await ready();
    const uid = await stage.pod('a');
    await stage.advance(60);
    await stage.verdict(uid, 'refused', { planId: 'p' });
    await stage.advance(100);
    await stage.verdict(uid, 'refused', { planId: 'p' });
    await stage.advance(200);
    expect(stage.batches.map((batch) => batch.podUids)).toEqual([[uid], [uid]]);
  });

  test('an old verdict counts from when it was told', async () => {
    await ready();
    const uid = await stage.pod('a');
    await stage.advance(60);
    await stage.verdict(uid, 'unplaced', { atMs: stage.clock.nowMs() - 600_000 });
    await stage.advance(100);
    expect(stage.batches.map((batch) => batch.podUids)).toEqual([[uid], [uid]]);
  });

  test('new pods wait for the verdicts on their group, then leave', async () => {
    await ready();
    const first = await stage.pod('a');
    await stage.advance(60);
    const second = await stage.pod('b');
    await stage.advance(500);
    expect(stage.batches).toHaveLength(1);
    await stage.verdict(first, 'admitted');
    await stage.advance(60);
    expect(stage.batches.map((batch) => batch.podUids)).toEqual([[first], [second]]);
  });

  test.each<[string, (uid: string) => Promise<unknown>]>([
    ['bound', (uid) => stage.kube.bind({ namespace: 'default', name: 'a', uid }, 'n')],
    [
      'preempting',
      () =>
        stage.kube.patch(
          { resource: kubeResources.pods, namespace: 'default', name: 'a' },
          { type: 'merge', body: { status: { nominatedNodeName: 'n' } } },
          { subresource: 'status' },
        ),
    ],
    [
      'gone',
      () =>
        stage.kube.delete(
          { resource: kubeResources.pods, namespace: 'default', name: 'a' },
          { gracePeriodSeconds: 0 },
        ),
    ],
  ])('a pod that is %s by now is not waited for', async (_what, happens) => {
    await ready();
    const first = await stage.pod('a');
    await stage.advance(60);
    const second = await stage.pod('b');
    await happens(first);
    await stage.advance(60);
    expect(stage.batches.map((batch) => batch.podUids).slice(1)).toEqual([[second]]);
  });

  test('a promise is as good as a verdict', async () => {
    await ready();
    const first = await stage.pod('a');
    await stage.advance(60);
    const second = await stage.pod('b');
    await stage.kube.create(kubeResources.nodes, {
      metadata: {
        name: 'n',
        annotations: {
          [annotations.promise]: renderPromise({ podUids: [first], admission: '1.1' }),
        },
      },
    });
    await stage.advance(60);
    expect(stage.batches.map((batch) => batch.podUids)).toEqual([[first], [second]]);
  });

  test('what the launcher tells of promises counts before the watch of its claims says it', async () => {
    await ready();
    const first = await stage.pod('a');
    await stage.advance(60);
    const second = await stage.pod('b');
    const value = {
      holderUid: 'claim-uid',
      holderKind: 'NodeClaim',
      holderName: 'c',
      podUids: [first],
      admission: { epoch: 1, number: 1 },
      reserved: {},
    } as const;
    await publishState(stage.channel, {
      kind: 'set',
      uid: 'claim-uid',
      state: { kind: 'promise', value },
      generation: '1.1',
    });
    await stage.advance(60);
    expect(stage.batches.map((batch) => batch.podUids)).toEqual([[first], [second]]);
    await publishState(stage.channel, {
      kind: 'gone',
      stateKind: 'promise',
      uid: 'claim-uid',
      generation: '1.2',
    });
    await stage.verdict(second, 'admitted');
    await stage.advance(60);
    expect(stage.batches.map((batch) => batch.podUids).at(-1)).toEqual([first]);
  });

  test('a promised pod is not batched until its promise ends', async () => {
    await ready();
    const uid = await stage.pod('a');
    const promise = renderPromise({ podUids: [uid], admission: '1.1' });
    await stage.advance(60);
    await stage.verdict(uid, 'admitted');
    const claim = await stage.kube.create(kubeResources.nodeClaims, {
      metadata: {
        name: 'c',
        labels: { 'karpenter.sh/nodepool': 'default' },
        annotations: { [annotations.promise]: promise },
      },
      spec: {
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        requirements: [],
      },
    });
    await stage.advance(60_000);
    expect(stage.batches).toHaveLength(1);
    await stage.kube.delete({ resource: kubeResources.nodeClaims, name: claim.metadata.name });
    await stage.advance(100);
    expect(stage.batches.map((batch) => batch.podUids)).toEqual([[uid], [uid]]);
  });

  test('a promise in place of another node ends with that node', async () => {
    await ready();
    const old = await stage.kube.create(kubeResources.nodes, { metadata: { name: 'old' } });
    const uid = await stage.pod('a', { unschedulable: false });
    const replaces = { nodeName: 'old', nodeUid: old.metadata.uid ?? '' };
    const promise = renderPromise({ podUids: [uid], admission: '1.1', replaces });
    await stage.kube.create(kubeResources.nodes, {
      metadata: { name: 'new', annotations: { [annotations.promise]: promise } },
    });
    await stage.unschedulable('a');
    await stage.advance(2_000);
    expect(stage.batches).toEqual([]);
    await stage.kube.delete({ resource: kubeResources.nodes, name: 'old' });
    await stage.advance(300);
    expect(stage.batches).toMatchObject([{ podUids: [uid] }]);
  });

  test('a promise with an end ends then', async () => {
    await ready();
    const uid = await stage.pod('a');
    await stage.kube.create(kubeResources.nodes, {
      metadata: {
        name: 'n',
        annotations: {
          [annotations.promise]: renderPromise({
            podUids: [uid],
            admission: '1.1',
            untilMs: stage.clock.nowMs() + 2_000,
          }),
        },
      },
    });
    await stage.advance(1_900);
    expect(stage.batches).toEqual([]);
    await stage.advance(300);
    expect(stage.batches).toMatchObject([{ podUids: [uid] }]);
  });

  test('a pod that cannot be placed backs off, and returns when a pool changes', async () => {
    await ready();
    const owner = {
      ownerReferences: [
        { apiVersion: 'batch/v1', kind: 'Job', name: 'web', uid: 'job-1', controller: true },
      ],
    };
    const uids = [
      await stage.pod('a', { metadata: owner }),
      await stage.pod('b', { metadata: owner }),
    ];
    await stage.advance(60);
    for (const uid of uids) await stage.verdict(uid, 'unplaced');
    await stage.advance(3_000);
    expect(stage.batches).toHaveLength(1);
    expect(stage.metrics.value('dovetail_pods_unschedulable_total')).toBe(2);
    await stage.pool('bigger');
    await stage.advance(600);
    expect(stage.batches).toHaveLength(2);
    for (const uid of uids) await stage.verdict(uid, 'unplaced', { planId: 'plan-2' });
    await stage.advance(11_000);
    expect(stage.batches).toHaveLength(3);
  });
});
