import { claimValue, nodeClassValue, poolValue } from '@dovetail/core-api/testing';
import type { Pod } from '@dovetail/core-kube-model';
import { daemonSetValue, podValue } from '@dovetail/core-kube-model/testing';
import { describe, expect, test } from 'vitest';

import { type Attempt, ChurnGuard, churnOf } from './churn-guard.js';
import { Cluster } from './cluster.js';

const minute = 60_000;
const small = { cpu: 2_000, memory: 4 };
const large = { cpu: 4_000, memory: 8 };
const attempt = (atMs: number, over: Partial<Attempt> = {}): Attempt => ({
  claimName: `claim-${atMs}`,
  atMs,
  offers: small,
  circumstances: 'same',
  ...over,
});
const many = (count: number): readonly Attempt[] => Array.from({ length: count }, () => attempt(0));

describe('after nodes that were bought in vain', () => {
  test.each<[string, readonly Attempt[], Partial<Attempt>, number, number | undefined]>([
    ['none: the next is bought', [], {}, 0, undefined],
    ['one: the next is bought', many(1), {}, 0, undefined],
    ['two: the third waits a minute', many(2), {}, 0, minute],
    ['two: the wait counts from the last', [attempt(0), attempt(5)], {}, 10, minute + 5],
    ['two: after the minute the third is bought', many(2), {}, minute, undefined],
    ['three: the fourth waits two minutes', many(3), {}, minute, 2 * minute],
    ['five: eight minutes', many(5), {}, minute, 8 * minute],
    ['sixteen: an hour, not longer', many(16), {}, minute, 60 * minute],
    ['two: a larger one is bought', many(2), { offers: large }, 0, undefined],
    [
      'two larger ones: a smaller one waits, too',
      [attempt(0, { offers: large }), attempt(0, { offers: large })],
      {},
      0,
      minute,
    ],
    [
      'two of two sizes: the next of the larger size is bought',
      [attempt(0), attempt(0, { offers: large })],
      { offers: large },
      0,
      undefined,
    ],
    [
      'two: under other circumstances the next is bought',
      many(2),
      { circumstances: 'new' },
      0,
      undefined,
    ],
  ])('%s', (_what, bought, next, nowMs, untilMs) =>
    expect(churnOf(bought, { offers: small, circumstances: 'same', ...next }, nowMs)?.untilMs).toBe(
      untilMs,
    ),
  );
});

const pool = poolValue('default');
const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'web' };
const pod = (uid: string, over: Partial<Pod> = {}): Pod => podValue(uid, { owner, ...over });

/** A guard on a cluster that it listens to. */
function stage() {
  const cluster = new Cluster([]);
  const guard = new ChurnGuard(cluster);
  cluster.subscribe((change) => guard.heard(change));
  let claims = 0;
  const admit = (one: Pod, bought = true): void => {
    claims += 1;
    const claimName = `claim-${claims}`;
    guard.admitted([one], pool, { claimName, atMs: 0, offers: small });
    cluster.set('claim', claimValue(claimName, bought ? { providerId: `aws:///${claims}` } : {}));
  };
  const holds = (one: Pod, of = pool): boolean =>
    guard.holds(one, { pool: of, offers: small }, 1) !== undefined;
  return { cluster, guard, admit, holds };
}

describe('a pod with two nodes behind it', () => {
  const twice = () => {
    const self = stage();
    self.cluster.set('pod', pod('a'));
    self.admit(pod('a'));
    self.admit(pod('a'));
    return self;
  };

  test('is held', () => {
    const { holds } = twice();
    expect(holds(pod('a'))).toBe(true);
  });
  test('is not held if EC2 launched nothing for one of them', () => {
    const { admit, holds } = stage();
    admit(pod('a'));
    admit(pod('a'), false);
    expect(holds(pod('a'))).toBe(false);
  });
  test('does not hold a pod of its owner that comes for the first time', () =>
    expect(twice().holds(pod('b'))).toBe(false));
  test('goes again once it asks for something else', () =>
    expect(twice().holds(pod('a', { requests: { cpu: 1 } }))).toBe(false));
  test('goes again once it has run', () => {
    const { cluster, holds } = twice();
    cluster.set('pod', pod('a', { phase: 'Running', nodeName: 'n' }));
    expect(holds(pod('a'))).toBe(false);
  });
  test('goes again when its pool changes', () =>
    expect(twice().holds(pod('a'), { ...pool, generation: pool.generation + 1 })).toBe(false));
  test('goes again when its class changes', () => {
    const { cluster, holds } = twice();
    cluster.set(
      'nodeclass',
      nodeClassValue(pool.classRef.name, { ref: pool.classRef, generation: 7 }),
    );
    expect(holds(pod('a'))).toBe(false);
  });
  test('goes again when a daemonset is added', () => {
    const { cluster, holds } = twice();
    cluster.set('daemonset', daemonSetValue('agent', podValue('agent')));
    expect(holds(pod('a'))).toBe(false);
  });
  test('leaves its nodes to its owner when kubelets refuse it, until one of them runs', () => {
    const { cluster, holds } = twice();
    cluster.set('pod', pod('a', { phase: 'Failed', nodeName: 'n' }));
    expect(holds(pod('b'))).toBe(true);
    cluster.set('pod', pod('c', { phase: 'Running', nodeName: 'n' }));
    expect(holds(pod('b'))).toBe(false);
  });
  test.each<[string, Partial<Pod>]>([
    ['is evicted', { deletionMs: 1 }],
    ['is gone', {}],
  ])('leaves its nodes to its owner when it %s from its node before it ran', (_what, over) => {
    const { cluster, holds } = twice();
    cluster.set('pod', pod('a', { nodeName: 'n', resourceVersion: '2' }));
    expect(holds(pod('b'))).toBe(false);
    cluster.set('pod', pod('a', { nodeName: 'n', resourceVersion: '3', ...over }));
    if (over.deletionMs === undefined) cluster.delete('pod', 'a');
    expect(holds(pod('b'))).toBe(true);
    cluster.delete('pod', 'a');
    expect(holds(pod('b'))).toBe(true);
    cluster.set('pod', pod('c', { phase: 'Succeeded', nodeName: 'n' }));
    expect(holds(pod('b'))).toBe(false);
  });
  test('is forgotten when it is deleted', () => {
    const { cluster, holds } = twice();
    cluster.delete('pod', 'a');
    expect(holds(pod('b'))).toBe(false);
    expect(holds(pod('a'))).toBe(false);
  });

  test('counts one node, whatever the number of its pods that a kubelet refused', () => {
    const { cluster, guard, holds } = stage();
    const pods = Array.from({ length: 10 }, (_, index) => pod(`p-${index}`));
    cluster.set('claim', claimValue('shared', { providerId: 'aws:///shared' }));
    for (const one of pods) {
      cluster.set('pod', one);
      guard.admitted([one], pool, { claimName: 'shared', atMs: 0, offers: small });
    }
    for (const one of pods)
      cluster.set('pod', { ...one, resourceVersion: '2', phase: 'Failed', nodeName: 'n' });
    expect(holds(pod('next'))).toBe(false);
  });
  test('goes again when a daemonset changes, not when one is only seen again', () => {
    const { cluster, holds } = twice();
    const agent = daemonSetValue('agent', podValue('agent'));
    cluster.set('daemonset', agent);
    expect(holds(pod('a'))).toBe(false);
    const { cluster: other, admit, holds: held } = stage();
    other.set('daemonset', agent);
    admit(pod('a'));
    admit(pod('a'));
    other.set('daemonset', { ...agent });
    expect(held(pod('a'))).toBe(true);
    const template = podValue('agent', { requests: { cpu: 9 } });
    other.set('daemonset', daemonSetValue('agent', template));
    expect(held(pod('a'))).toBe(false);
  });
});
