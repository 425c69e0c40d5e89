import { type PromiseAnnotation, renderPromise } from '@dovetail/core-api';
import { claimValue } from '@dovetail/core-api/testing';
import { nodeValue, podValue } from '@dovetail/core-kube-model/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { Cluster } from './cluster.js';
import {
  hasExpired,
  isWaiting,
  livePromise,
  promisedRoom,
  promiseHolding,
  roomFor,
} from './promises.js';

const nowMs = 1_000;
const promising = (promise: Partial<PromiseAnnotation>): Readonly<Record<string, string>> => ({
  'dovetail.sh/promise': renderPromise({ podUids: [], admission: '1.1', ...promise }),
});

/** A cluster with pods a (waiting), b (bound) and c (ending), and node `replaced`. */
function clusterOf(): Cluster {
  const cluster = new Cluster();
  cluster.set('pod', podValue('a'));
  cluster.set('pod', podValue('b', { nodeName: 'n' }));
  cluster.set('pod', podValue('c', { deletionMs: 1 }));
  cluster.set('node', nodeValue('replaced', { uid: 'replaced' }));
  return cluster;
}

describe('a pod waits for its promise', () => {
  test.each<[string, Parameters<typeof podValue>[1], boolean]>([
    ['while it has no node', {}, true],
    ['not once it is bound', { nodeName: 'n' }, false],
    ['not while it is being deleted', { deletionMs: 1 }, false],
    ['not once it has ended', { phase: 'Succeeded' }, false],
  ])('%s', (_when, over, waits) => expect(isWaiting(podValue('a', over))).toBe(waits));
});

test.each<[string, number | undefined, boolean]>([
  ['without a time never runs out', undefined, false],
  ['runs out at its time', nowMs, true],
  ['holds until its time', nowMs + 1, false],
])('a promise %s', (_how, untilMs, expired) =>
  expect(hasExpired(untilMs === undefined ? {} : { untilMs }, nowMs)).toBe(expired),
);

describe('the promise of a claim', () => {
  const liveOf = (promise: Partial<PromiseAnnotation>, over: { deletionMs?: number } = {}) => {
    const cluster = clusterOf();
    cluster.set('claim', claimValue('c1', { annotations: promising(promise), ...over }));
    return livePromise(cluster, 'claim-c1', nowMs);
  };

  test('waits for its pods that are neither bound nor ending', () =>
    expect(liveOf({ podUids: ['a', 'b', 'c', 'gone'] })?.waiting.map(({ uid }) => uid)).toEqual([
      'a',
    ]));

  test('binds for its amount alone', () =>
    expect(liveOf({ reserved: { cpu: 1 } })?.promise.reserved).toEqual({ cpu: 1 }));

  test('keeps room while the replaced node is there', () =>
    expect(
      liveOf({ reserved: { cpu: 1 }, replaces: { nodeName: 'r', nodeUid: 'replaced' } }),
    ).toBeDefined());

  test.each<[string, Partial<PromiseAnnotation>, { deletionMs?: number }]>([
    ['when none of its pods waits', { podUids: ['b', 'c'] }, {}],
    ['when it names nothing', {}, {}],
    ['at its time', { podUids: ['a'], untilMs: nowMs }, {}],
    ['with its holder', { podUids: ['a'] }, { deletionMs: 1 }],
    [
      'with the node that it replaces',
      { reserved: { cpu: 1 }, replaces: { nodeName: 'r', nodeUid: 'gone' } },
      {},
    ],
  ])('ends %s', (_when, promise, over) => expect(liveOf(promise, over)).toBeUndefined());
});

describe('room for the pods of a replaced node', () => {
  const stateful = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 's', uid: 's' };
  const moving = { nodeName: 'replaced', phase: 'Running', requests: { cpu: 2 } } as const;
  const clusterWith = (pod: Parameters<typeof podValue>[1] | undefined): Cluster => {
    const cluster = clusterOf();
    if (pod !== undefined) cluster.set('pod', podValue('x', { ...moving, ...pod }));
    cluster.set('pod', podValue('y', moving));
    const room = { reserved: { cpu: 4 }, forPodUids: ['x', 'y'], podUids: ['a'] };
    cluster.set('claim', claimValue('c1', { annotations: promising(room) }));
    return cluster;
  };

  test.each<[string, Parameters<typeof podValue>[1] | undefined, number]>([
    ['is kept while the pod runs there', {}, 4],
    ['ends for a pod that is gone', undefined, 2],
    ['ends for a pod that is being deleted: its successor takes it', { deletionMs: 1 }, 2],
    [
      'is kept for a pod whose successor comes only after it',
      { deletionMs: 1, owner: stateful },
      4,
    ],
    ['ends for a pod that has ended', { phase: 'Succeeded' }, 2],
  ])('%s', (_when, pod, cpu) =>
    expect(promisedRoom(clusterWith(pod), 'claim-c1', nowMs)).toMatchObject({
      pods: [{ uid: 'a' }],
      reserved: { cpu },
    }),
  );

  test('is found by the pod, for as long as the promise binds', () => {
    const cluster = clusterWith({});
    const holders = (uid: string) =>
      roomFor(cluster, uid, nowMs).map(({ holder }) => holder.value.name);
    expect([holders('x'), holders('a')]).toEqual([['c1'], []]);
    cluster.set('claim', claimValue('c1', { deletionMs: 1, annotations: promising({}) }));
    expect(holders('x')).toEqual([]);
  });

  test('does not end the promises beside it with the replaced node', () => {
    const cluster = clusterWith({});
    const replaces = { nodeName: 'gone', nodeUid: 'gone' };
    const room = { reserved: { cpu: 4 }, forPodUids: ['gone'], podUids: ['a'], replaces };
    cluster.set('node', nodeValue('n1', { annotations: promising(room) }));
    expect(promisedRoom(cluster, 'node-n1', nowMs)).toMatchObject({
      pods: [{ uid: 'a' }],
      reserved: {},
    });
  });
});

describe('who holds a pod', () => {
  test('is the holder with the first UID, claim or node', () => {
    const cluster = clusterOf();
    cluster.set('node', nodeValue('z', { annotations: promising({ podUids: ['a'] }) }));
    expect(promiseHolding(cluster, 'a', nowMs)?.holder.kind).toBe('Node');
    cluster.set('claim', claimValue('c1', { annotations: promising({ podUids: ['a'] }) }));
    expect(promiseHolding(cluster, 'a', nowMs)?.holder.value.name).toBe('c1');
  });

  test('is nobody once the promise has ended or the holder is gone', () => {
    const cluster = clusterOf();
    cluster.set(
      'claim',
      claimValue('c1', { annotations: promising({ podUids: ['a'], untilMs: 1 }) }),
    );
    expect(promiseHolding(cluster, 'a', nowMs)).toBeUndefined();
    cluster.set('claim', claimValue('c2', { annotations: promising({ podUids: ['a'] }) }));
    cluster.delete('claim', 'claim-c2');
    expect(promiseHolding(cluster, 'a', nowMs)).toBeUndefined();
  });

  test('is nobody for a bound pod', () => {
    const cluster = clusterOf();
    cluster.set('claim', claimValue('c1', { annotations: promising({ podUids: ['a', 'b'] }) }));
    expect(promiseHolding(cluster, 'b', nowMs)).toBeUndefined();
  });
});

test('without a promise there is no room kept', () =>
  expect(promisedRoom(clusterOf(), 'nobody', nowMs)).toEqual({ pods: [], reserved: {} }));

test('a pod is held exactly when it waits in the room of some holder', () => {
  const pods = fc.subarray(['a', 'b', 'c', 'd']);
  const promise = fc.record({ podUids: pods, untilMs: fc.constantFrom(nowMs, nowMs + 1) });
  fc.assert(
    fc.property(promise, promise, (first, second) => {
      const cluster = clusterOf();
      cluster.set('claim', claimValue('c1', { annotations: promising(first) }));
      cluster.set('node', nodeValue('n1', { annotations: promising(second) }));
      const rooms = ['claim-c1', 'node-n1'].flatMap(
        (uid) => promisedRoom(cluster, uid, nowMs).pods,
      );
      for (const uid of ['a', 'b', 'c', 'd'])
        expect(promiseHolding(cluster, uid, nowMs) !== undefined).toBe(
          rooms.some((pod) => pod.uid === uid),
        );
    }),
  );
});
