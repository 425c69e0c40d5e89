import type { PlanCause } from '@dovetail/contracts';
import { podValue } from '@dovetail/core-kube-model/testing';
import { existingNodeValue } from '@dovetail/core-scheduling/testing';
import { describe, expect, test } from 'vitest';

import { planValue } from '../testing/values.js';
import {
  groupTouched,
  launchRate,
  nodeFull,
  nodeRetiring,
  olderEpoch,
  podsNotFree,
  tooOld,
  type TouchedGroups,
} from './rules.js';

const pending: PlanCause = { kind: 'pending', group: 'all', round: '1.1' };
const replacing: PlanCause = {
  kind: 'replacement',
  nodeName: 'old',
  nodeUid: 'uid-old',
  reason: 'expired',
};
const replacingBoth: PlanCause = { ...replacing, others: [{ nodeName: 'n1', nodeUid: 'uid-1' }] };
const cluster = new Map(
  [
    podValue('free'),
    podValue('bound', { nodeName: 'n1' }),
    podValue('on-old', { nodeName: 'old', phase: 'Running' }),
    podValue('ending', { deletionMs: 1 }),
    podValue('ending-on-old', { nodeName: 'old', phase: 'Running', deletionMs: 1 }),
    podValue('done-on-old', { nodeName: 'old', phase: 'Succeeded' }),
    podValue('done', { phase: 'Succeeded' }),
    podValue('promised'),
  ].map((pod) => [pod.uid, pod]),
);
const facts = {
  pod: (uid: string) => cluster.get(uid),
  promisedTo: (uid: string) => (uid === 'promised' ? 'claim-1' : undefined),
};

describe('pods of a bin', () => {
  test.each([
    ['a free pod is admitted', ['free'], pending, undefined],
    ['a pod that is gone refuses the bin', ['free', 'unheard-of'], pending, 'pod-gone'],
    ['a pod that is ending refuses it', ['ending'], pending, 'pod-gone'],
    ['a pod that has ended refuses it', ['done'], pending, 'pod-gone'],
    ['a pod that is bound refuses it', ['bound'], pending, 'pod-bound'],
    ['a pod with a live promise refuses it', ['promised'], pending, 'pod-promised'],
    ['a replacement wants its pods on the node that it replaces', ['on-old'], replacing, undefined],
    ['of several nodes, on any of them', ['on-old', 'bound'], replacingBoth, undefined],
    ['and on no other', ['free', 'bound'], replacingBoth, 'not-on-replaced-node'],
    [
      'one of them that is ending still needs its room there',
      ['on-old', 'ending-on-old'],
      replacing,
      undefined,
    ],
    [
      'a replacement for nothing but ending pods is refused',
      ['ending-on-old'],
      replacing,
      'pod-gone',
    ],
    ['one of them that has ended refuses it', ['done-on-old'], replacing, 'pod-gone'],
    [
      'a pod that has left that node refuses the replacement',
      ['on-old', 'free'],
      replacing,
      'not-on-replaced-node',
    ],
    ['a pod on another node refuses the replacement', ['bound'], replacing, 'not-on-replaced-node'],
    ['no pods, no reason', [], pending, undefined],
  ] as const)('%s', (_sentence, uids, cause, code) =>
    expect(podsNotFree(uids, cause, facts)?.code).toBe(code),
  );
});

describe('a plan as a whole', () => {
  test.each([
    ['a plan of 60 s is young enough', 60_000, undefined],
    ['an older one is refused', 60_001, 'plan-too-old'],
    ['one from a clock ahead of ours is not', -5_000, undefined],
  ] as const)('%s', (_sentence, ageMs, code) =>
    expect(tooOld({ createdMs: 1_000_000 }, 1_000_000 + ageMs, 60_000)?.code).toBe(code),
  );

  test.each([
    ['a plan that has seen this epoch is judged', 7, undefined],
    ['one that has only seen an older one is refused', 6, 'older-epoch'],
  ] as const)('%s', (_sentence, epoch, code) =>
    expect(olderEpoch({ epoch, number: 3 }, 7)?.code).toBe(code),
  );
});

describe('spread and affinity groups', () => {
  const touched: TouchedGroups = new Map([
    ['zone-web', { admission: { epoch: 1, number: 5 }, planId: 'other' }],
    ['own', { admission: { epoch: 1, number: 9 }, planId: 'mine' }],
  ]);
  test.each([
    [
      'a group touched after what the plan had seen refuses the bin',
      ['zone-web'],
      4,
      'group-touched',
    ],
    ['a group touched by an admission that it had seen does not', ['zone-web'], 5, undefined],
    ['a group that its own plan touched does not', ['own'], 1, undefined],
    ['an untouched group does not', ['host-db'], 1, undefined],
    ['one touched group among many is enough', ['host-db', 'own', 'zone-web'], 1, 'group-touched'],
  ] as const)('%s', (_sentence, topologyGroups, number, code) =>
    expect(
      groupTouched(
        { topologyGroups },
        planValue('mine', { admissionSeen: { epoch: 1, number } }),
        touched,
      )?.code,
    ).toBe(code),
  );
});

describe('nodes that exist', () => {
  const placement = { nodeName: 'n1', nodeUid: 'node-n1' };
  test.each([
    ['a node that is there is used', existingNodeValue('n1'), undefined],
    ['a node that is gone refuses the placement', undefined, 'node-gone'],
    [
      'a node that is being retired refuses it',
      existingNodeValue('n1', { state: 'deleting' }),
      'node-retiring',
    ],
  ] as const)('%s', (_sentence, node, code) =>
    expect(nodeRetiring(placement, node)?.code).toBe(code),
  );

  test.each([
    ['what fits fits', {}, 4000, undefined],
    ['one more does not', {}, 4001, 'node-full'],
    ['bound pods take room', { pods: [podValue('p')] }, 3001, 'node-full'],
    ['promised pods take room', { promisedPods: [podValue('p')] }, 3001, 'node-full'],
    ['room kept for replacements is taken', { reserved: { cpu: 2000 } }, 2001, 'node-full'],
    [
      'all of them together leave the rest',
      { pods: [podValue('p')], promisedPods: [podValue('q')], reserved: { cpu: 500 } },
      1500,
      undefined,
    ],
  ] as const)('%s', (_sentence, change, cpu, code) =>
    expect(nodeFull({ cpu }, existingNodeValue('n1', change))?.code).toBe(code),
  );
});

describe('launches per minute', () => {
  test.each([
    ['no limit, no refusal', undefined, 1000, undefined],
    ['below the limit', 3, 2, undefined],
    ['at the limit', 3, 3, 'launch-rate'],
  ] as const)('%s', (_sentence, most, launches, code) =>
    expect(
      launchRate(
        { key: 'NodePool/a', ...(most === undefined ? {} : { maxLaunchesPerMinute: most }) },
        launches,
      )?.code,
    ).toBe(code),
  );
});
