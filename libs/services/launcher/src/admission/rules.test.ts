import { describe, expect, test } from '@jest/globals';
import type { PlanCause } from '@dovetail/contracts';
import { nodeValue, optionOf, planValue, podValue, typeValue } from '../testing/values.js';
import { availableNow, withinLimits, withinPriceCap, type LimitRoom } from './options.js';
import { groupTouched, launchRate, nodeFull, nodeRetiring, olderEpoch, podsNotFree, tooOld, type TouchedGroups } from './rules.js';

const pending: PlanCause = { kind: 'pending', group: 'all', round: '1.1' };
const replacing: PlanCause = { kind: 'replacement', nodeName: 'old', nodeUid: 'uid-old', reason: 'expired' };
const world = new Map([
  podValue('free'), podValue('bound', { nodeName: 'n1' }), podValue('on-old', { nodeName: 'old', phase: 'Running' }), podValue('ending', { deletionMs: 1 }), podValue('done', { phase: 'Succeeded' }), podValue('promised'),
].map((pod) => [pod.uid, pod]));
const facts = { pod: (uid: string) => world.get(uid), promisedTo: (uid: string) => (uid === 'promised' ? 'claim-1' : undefined) };

describe('pods of a bin', () => {
  test.each([
    ['a free pod is admitted', ['free'], pending, undefined],
    ['a pod that is gone refuses the bin', ['free', 'unheard-of'], pending, 'pod-gone'],
    ['a pod that is ending refuses it', ['ending'], pending, 'pod-gone'],
    ['a pod that has ended refuses it', ['done'], pending, 'pod-gone'],
    ['a pod that is bound refuses it', ['bound'], pending, 'pod-bound'],
    ['a pod with a live promise refuses it', ['promised'], pending, 'pod-promised'],
    ['a replacement wants its pods on the node that it replaces', ['on-old'], replacing, undefined],
    ['a pod that has left that node refuses the replacement', ['on-old', 'free'], replacing, 'not-on-replaced-node'],
    ['a pod on another node refuses the replacement', ['bound'], replacing, 'not-on-replaced-node'],
    ['no pods, no reason', [], pending, undefined],
  ] as const)('%s', (_sentence, uids, cause, code) => expect(podsNotFree(uids, cause, facts)?.code).toBe(code));
});

describe('a plan as a whole', () => {
  test.each([
    ['a plan of 60 s is young enough', 60_000, undefined],
    ['an older one is refused', 60_001, 'plan-too-old'],
    ['one from a clock ahead of ours is not', -5_000, undefined],
  ] as const)('%s', (_sentence, ageMs, code) => expect(tooOld({ createdMs: 1_000_000 }, 1_000_000 + ageMs, 60_000)?.code).toBe(code));

  test.each([
    ['a plan that has seen this epoch is judged', 7, undefined],
    ['one that has only seen an older one is refused', 6, 'older-epoch'],
  ] as const)('%s', (_sentence, epoch, code) => expect(olderEpoch({ epoch, number: 3 }, 7)?.code).toBe(code));
});

describe('spread and affinity groups', () => {
  const touched: TouchedGroups = new Map([['zone-web', { admission: { epoch: 1, number: 5 }, planId: 'other' }], ['own', { admission: { epoch: 1, number: 9 }, planId: 'mine' }]]);
  test.each([
    ['a group touched after what the plan had seen refuses the bin', ['zone-web'], 4, 'group-touched'],
    ['a group touched by an admission that it had seen does not', ['zone-web'], 5, undefined],
    ['a group that its own plan touched does not', ['own'], 1, undefined],
    ['an untouched group does not', ['host-db'], 1, undefined],
    ['one touched group among many is enough', ['host-db', 'own', 'zone-web'], 1, 'group-touched'],
  ] as const)('%s', (_sentence, topologyGroups, number, code) =>
    expect(groupTouched({ topologyGroups }, planValue('mine', { admissionSeen: { epoch: 1, number } }), touched)?.code).toBe(code));
});

describe('nodes that exist', () => {
  const placement = { nodeName: 'n1', nodeUid: 'uid-n1' };
  test.each([
    ['a node that is there is used', nodeValue('n1'), undefined],
    ['a node that is gone refuses the placement', undefined, 'node-gone'],
    ['a node that is being retired refuses it', nodeValue('n1', { state: 'deleting' }), 'node-retiring'],
  ] as const)('%s', (_sentence, node, code) => expect(nodeRetiring(placement, node)?.code).toBe(code));

  test.each([
    ['what fits fits', {}, 4000, undefined],
    ['one more does not', {}, 4001, 'node-full'],
    ['bound pods take room', { pods: [podValue('p')] }, 3001, 'node-full'],
    ['promised pods take room', { promisedPods: [podValue('p')] }, 3001, 'node-full'],
    ['room kept for replacements is taken', { reserved: { cpu: 2000 } }, 2001, 'node-full'],
    ['all of them together leave the rest', { pods: [podValue('p')], promisedPods: [podValue('q')], reserved: { cpu: 500 } }, 1500, undefined],
  ] as const)('%s', (_sentence, change, cpu, code) => expect(nodeFull({ cpu }, nodeValue('n1', change))?.code).toBe(code));
});

describe('launches per minute', () => {
  test.each([
    ['no limit, no refusal', undefined, 1000, undefined],
    ['below the limit', 3, 2, undefined],
    ['at the limit', 3, 3, 'launch-rate'],
  ] as const)('%s', (_sentence, most, launches, code) => expect(launchRate({ key: 'NodePool/a', ...(most === undefined ? {} : { maxLaunchesPerMinute: most }) }, launches)?.code).toBe(code));
});

describe('options of a bin', () => {
  const types = new Map([typeValue('small', 2000), typeValue('large', 8000), typeValue('empty', 2000, { available: false })].map((type) => [type.name, type]));
  const names = (left: ReturnType<typeof availableNow>): readonly string[] | string => (left.ok ? left.options.map((option) => option.instanceType) : left.reason.code);
  const all = [optionOf('small', 1), optionOf('large', 4), optionOf('empty', 1), optionOf('unknown', 1)];

  test('only what has capacity now is left', () => expect(names(availableNow(all, types))).toEqual(['small', 'large']));
  test('none of it left refuses the bin', () => expect(names(availableNow([optionOf('empty', 1)], types))).toBe('no-offering'));
  test.each([
    ['no cap keeps all', undefined, ['small', 'large']],
    ['a cap keeps what costs no more', 1, ['small']],
    ['a cap under the cheapest refuses the bin', 0, 'price-cap'],
  ] as const)('%s', (_sentence, most, expected) =>
    expect(names(withinPriceCap([optionOf('small', 1), optionOf('large', 4)], { key: 'NodePool/a', ...(most === undefined ? {} : { maxPriceMicrosPerHour: most }) }))).toEqual(expected));

  const room = (change: Partial<LimitRoom>): LimitRoom => ({ key: 'NodePool/a', remaining: {}, reservedForLater: {}, laterBins: 0, ...change });
  test.each([
    ['without limits all are left', room({}), ['small', 'large']],
    ['the largest that fits may be launched', room({ remaining: { cpu: 8000 } }), ['small', 'large']],
    ['what could pass the limit is dropped', room({ remaining: { cpu: 7999 } }), ['small']],
    ['nothing fits: refused', room({ remaining: { cpu: 1999 } }), 'pool-limit'],
    ['later bins of the plan keep room for their cheapest', room({ remaining: { cpu: 9999 }, reservedForLater: { cpu: 2000 }, laterBins: 1 }), ['small']],
    ['room beyond that is shared', room({ remaining: { cpu: 16_000 }, reservedForLater: { cpu: 2000 }, laterBins: 1 }), ['small', 'large']],
    ['a limit of nodes counts nodes', room({ remaining: { nodes: 1 } }), ['small', 'large']],
    ['and ends with them', room({ remaining: { nodes: 0 } }), 'pool-limit'],
  ] as const)('%s', (_sentence, limits, expected) => expect(names(withinLimits([optionOf('small', 1), optionOf('large', 4)], types, limits))).toEqual(expected));
});
