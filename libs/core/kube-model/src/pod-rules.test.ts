import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { PersistentVolumeClaim, Pod } from './index.js';
import {
  awaitedByNode,
  disruptionProtectionOf,
  evictionCost,
  isActive,
  isBound,
  isDaemonPod,
  isDisruptionProtected,
  isEvictable,
  isReschedulable,
  isTerminal,
  isTerminating,
  isUnplaced,
  needsScheduler,
  podOf,
} from './index.js';

fc.configureGlobal({ seed: 1 });

const parsedBase = podOf({ metadata: { uid: 'u', name: 'p', namespace: 'n' } });
if (!parsedBase.ok) throw new Error(parsedBase.remedy);
const base = parsedBase.value;
const pod = (more: Partial<Pod>): Pod => ({ ...base, ...more });
const owner = (kind: string, apiVersion = 'apps/v1'): Pod['owner'] & object => ({
  apiVersion,
  kind,
  name: 'o',
  uid: 'o',
});

test.each<[string, Partial<Pod>, boolean]>([
  ['with a node is bound', { nodeName: 'n1' }, true],
  ['without a node is not', {}, false],
])('a pod %s', (_what, more, bound) => expect(isBound(pod(more))).toBe(bound));

describe('a waiting pod of a daemonset', () => {
  const term = (key: string, ...values: readonly string[]) => [
    { matchExpressions: [], matchFields: [{ key, operator: 'In' as const, values }] },
  ];
  const pinned = { owner: owner('DaemonSet'), requiredNodeAffinity: term('metadata.name', 'n1') };
  test.each<[string, Partial<Pod>, string | undefined]>([
    ['is made for the node that its affinity names', pinned, 'n1'],
    ['of no daemonset is made for no node', { ...pinned, owner: owner('ReplicaSet') }, undefined],
    ['that is bound waits no more', { ...pinned, nodeName: 'n1' }, undefined],
    ['that is being deleted waits no more', { ...pinned, deletionMs: 1 }, undefined],
    [
      'with another field is made for no node',
      { ...pinned, requiredNodeAffinity: term('x', 'n1') },
      undefined,
    ],
    [
      'with two names is made for neither',
      { ...pinned, requiredNodeAffinity: term('metadata.name', 'a', 'b') },
      undefined,
    ],
    ['without affinity is made for no node', { owner: owner('DaemonSet') }, undefined],
  ])('%s', (_what, more, node) => expect(awaitedByNode(pod(more))).toBe(node));
});

describe('a pod waits for a place', () => {
  test.each<[string, Partial<Pod>, boolean]>([
    ['when the scheduler finds no node', { unschedulable: true }, true],
    ['before the scheduler has looked at it', { unschedulable: false }, true],
    ['not when it is bound', { nodeName: 'x' }, false],
    ['not while it preempts', { nominatedNodeName: 'x' }, false],
    ['not while a gate holds it', { schedulingGates: ['g'] }, false],
    ['not when a daemonset owns it', { owner: owner('DaemonSet') }, false],
    ['not when a node owns it', { owner: owner('Node', 'v1') }, false],
    ['not when it is static', { mirror: true }, false],
    ['not while it is being deleted', { deletionMs: 1 }, false],
    ['not when it has ended', { phase: 'Failed' }, false],
    ['when a replica set owns it', { owner: owner('ReplicaSet') }, true],
  ])('%s', (_name, more, does) => expect(isUnplaced(pod(more))).toBe(does));

  test('and may need one before the scheduler has looked at it', () =>
    expect([
      isUnplaced(pod({ unschedulable: false })),
      isUnplaced(pod({ schedulingGates: ['g'] })),
    ]).toEqual([true, false]));
});

test.each<[string, Partial<Pod>, boolean, boolean]>([
  ['running', {}, true, true],
  ['ended', { phase: 'Succeeded' }, false, false],
  ['terminating', { deletionMs: 1 }, false, false],
  ['terminating, of a stateful set', { deletionMs: 1, owner: owner('StatefulSet') }, false, true],
  ['of a daemonset', { owner: owner('DaemonSet') }, true, false],
  ['static', { mirror: true }, true, false],
])('a pod that is %s', (_name, more, active, reschedulable) =>
  expect([isActive(pod(more)), isReschedulable(pod(more))]).toEqual([active, reschedulable]),
);

test('draining leaves pods that tolerate the drain taint, and static pods', () => {
  const taint = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' } as const;
  expect(
    [pod({}), pod({ tolerations: [{ operator: 'Exists' }] }), pod({ mirror: true })].map((one) =>
      isEvictable(one, taint),
    ),
  ).toEqual([true, false, false]);
});

describe('what must be left to the scheduler', () => {
  const bound: PersistentVolumeClaim = {
    uid: 'c',
    namespace: 'n',
    name: 'c',
    resourceVersion: '',
    phase: 'Bound',
    volumeName: 'v',
    bindCompleted: true,
  };
  const { volumeName: _volume, ...unbound } = { ...bound, bindCompleted: false };
  test.each<[string, Partial<Pod>, PersistentVolumeClaim | undefined, object | undefined]>([
    ['an ordinary pod', {}, undefined, undefined],
    [
      "another scheduler's pod",
      { schedulerName: 'mine' },
      undefined,
      { kind: 'scheduler-name', name: 'mine' },
    ],
    ['a gated pod', { schedulingGates: ['g'] }, undefined, { kind: 'scheduling-gate', name: 'g' }],
    ['a pod of a group', { schedulingGroup: true }, undefined, { kind: 'scheduling-group' }],
    [
      'a pod with device claims',
      { resourceClaims: ['gpu'] },
      undefined,
      { kind: 'resource-claim', name: 'gpu' },
    ],
    ['a pod with a bound volume', { volumes: [{ claimName: 'c' }] }, bound, undefined],
    [
      'a pod with an unbound volume',
      { volumes: [{ claimName: 'c' }] },
      unbound,
      { kind: 'unbound-volume', name: 'c' },
    ],
    [
      'a pod whose binding has not completed',
      { volumes: [{ claimName: 'c' }] },
      { ...bound, bindCompleted: false },
      { kind: 'unbound-volume', name: 'c' },
    ],
    [
      'a pod whose claim is missing',
      { volumes: [{ claimName: 'c' }] },
      undefined,
      { kind: 'unbound-volume', name: 'c' },
    ],
  ])('%s', (_name, more, claim, reason) =>
    expect(needsScheduler(pod(more), () => claim)).toEqual(reason),
  );
});

describe('do-not-disrupt', () => {
  const at = (text: string, startMs?: number): Pod =>
    pod({
      annotations: { 'karpenter.sh/do-not-disrupt': text },
      ...(startMs === undefined ? {} : { startMs }),
    });
  test.each<[string, Pod, number, boolean]>([
    ['absent', pod({}), 0, false],
    ['true', at('true'), 0, true],
    ['false', at('false'), 0, false],
    ['a duration that runs', at('10m', 0), 599_999, true],
    ['a duration that has ended', at('10m', 0), 600_000, false],
    ['a duration before the pod has started', at('10m'), 0, true],
    ['nonsense', at('always'), 0, false],
    ['a negative duration', at('-10m', 0), 0, false],
  ])('%s', (_name, one, nowMs, does) => expect(isDisruptionProtected(one, nowMs)).toBe(does));
});

describe('the cost of evicting a pod', () => {
  const own = 'karpenter.sh/disruption-cost';
  const deletion = 'controller.kubernetes.io/pod-deletion-cost';
  const high = String(2 ** 27);
  test.each<[string, Partial<Pod>, number]>([
    ['is 1 without priority and annotation', {}, 1],
    ['grows with its priority', { priority: 2 ** 25 }, 2],
    ['is 10 at most', { priority: 2_000_000_000 }, 10],
    ['is -10 at least', { priority: -(2 ** 31), annotations: { [own]: String(-(2 ** 31)) } }, -10],
    ["is lowered by Kubernetes' deletion cost", { annotations: { [deletion]: `-${high}` } }, 0],
    ["is raised by Karpenter's disruption cost", { annotations: { [own]: high } }, 2],
    ['may have a plus sign, as Go reads it', { annotations: { [own]: `+${high}` } }, 2],
    [
      'is the disruption cost if both are there',
      { annotations: { [own]: '0', [deletion]: high } },
      1,
    ],
    [
      'does not fall back on the deletion cost',
      { annotations: { [own]: 'x', [deletion]: high } },
      1,
    ],
    ['ignores a text', { annotations: { [deletion]: 'much' } }, 1],
    ['ignores a fraction', { annotations: { [deletion]: '134217728.5' } }, 1],
    ['takes the largest int32', { annotations: { [own]: '2147483647' } }, 10],
    ['ignores one more than it', { annotations: { [own]: '2147483648' } }, 1],
    ['takes the smallest int32', { annotations: { [own]: '-2147483648' } }, -10],
    ['ignores ten digits beyond it', { annotations: { [deletion]: '9999999999' } }, 1],
  ])('%s', (_name, more, cost) => expect(evictionCost(pod(more))).toBe(cost));
});

describe('the laws of a pod', () => {
  const anyPod: fc.Arbitrary<Pod> = fc
    .record(
      {
        phase: fc.constantFrom(
          'Pending' as const,
          'Running' as const,
          'Succeeded' as const,
          'Failed' as const,
        ),
        deletionMs: fc.nat(),
        nodeName: fc.constant('n'),
        nominatedNodeName: fc.constant('n'),
        schedulingGates: fc.constantFrom([], ['g']),
        unschedulable: fc.boolean(),
        mirror: fc.boolean(),
        owner: fc.constantFrom(
          owner('DaemonSet'),
          owner('StatefulSet'),
          owner('ReplicaSet'),
          owner('Node', 'v1'),
        ),
        priority: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
        tolerations: fc.constantFrom([], [{ operator: 'Exists' as const }]),
      },
      { requiredKeys: [] },
    )
    .map((more) => pod(more));
  const drainTaint = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' } as const;

  test.each<[string, (one: Pod) => boolean, (one: Pod) => boolean]>([
    ['one that waits for a place is active', isUnplaced, isActive],
    ['one that waits for a place will need one again', isUnplaced, isReschedulable],
    ['one that is evicted is active', (one) => isEvictable(one, drainTaint), isActive],
    [
      'one that needs another place is not run by a daemonset',
      isReschedulable,
      (one) => !isDaemonPod(one),
    ],
    ['one that needs another place has not ended', isReschedulable, (one) => !isTerminal(one)],
    ['one that is active is not terminating', isActive, (one) => !isTerminating(one)],
  ])('%s', (_name, narrow, wide) =>
    fc.assert(fc.property(anyPod, (one) => !narrow(one) || wide(one))),
  );

  test('evicting it costs from -10 to 10, and more for a higher priority', () =>
    fc.assert(
      fc.property(anyPod, fc.nat({ max: 2 ** 30 }), (one, more) => {
        const cost = evictionCost(one);
        expect(Math.abs(cost)).toBeLessThanOrEqual(10);
        expect(evictionCost({ ...one, priority: one.priority + more })).toBeGreaterThanOrEqual(
          cost,
        );
      }),
    ));

  test('a duration of do-not-disrupt protects up to its end and never after', () =>
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 600 }),
        fc.nat({ max: 1_200_000 }),
        (seconds, afterMs) => {
          const annotations = { 'karpenter.sh/do-not-disrupt': `${String(seconds)}s` };
          expect(isDisruptionProtected(pod({ annotations, startMs: 1000 }), 1000 + afterMs)).toBe(
            afterMs < seconds * 1000,
          );
        },
      ),
    ));
});

test.each<[string, object]>([
  ['always', { kind: 'invalid', text: 'always' }],
  ['0s', { kind: 'invalid', text: '0s' }],
  ['-1h', { kind: 'invalid', text: '-1h' }],
  ['false', { kind: 'none' }],
  ['true', { kind: 'always' }],
  ['1h', { kind: 'for', durationMs: 3_600_000 }],
])('the annotation do-not-disrupt: %s asks for %j', (text, asked) =>
  expect(
    disruptionProtectionOf(pod({ annotations: { 'karpenter.sh/do-not-disrupt': text } })),
  ).toEqual(asked),
);

test('the first reason to leave a pod to the scheduler is that it names another one', () =>
  expect(
    needsScheduler(pod({ schedulerName: 'volcano', schedulingGates: ['g'] }), () => undefined),
  ).toEqual({ kind: 'scheduler-name', name: 'volcano' }));
