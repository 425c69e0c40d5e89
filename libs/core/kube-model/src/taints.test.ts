import { describe, expect, test } from '@jest/globals';
import type { Taint, Toleration } from './index.js';
import { describeTaint, firstUntolerated, isEphemeralTaint, selectorMatches, tolerates } from './index.js';

const taint: Taint = { key: 'team', value: 'a', effect: 'NoSchedule' };
describe('a toleration', () => {
  test.each<[string, Toleration, Taint, boolean]>([
    ['equal key and value', { key: 'team', operator: 'Equal', value: 'a' }, taint, true],
    ['another value', { key: 'team', operator: 'Equal', value: 'b' }, taint, false],
    ['another key', { key: 'other', operator: 'Equal', value: 'a' }, taint, false],
    ['Exists with the key', { key: 'team', operator: 'Exists' }, taint, true],
    ['Exists without a key', { operator: 'Exists' }, taint, true],
    ['another effect', { key: 'team', operator: 'Exists', effect: 'NoExecute' }, taint, false],
    ['an absent value equals the empty one', { key: 'team', operator: 'Equal' }, { key: 'team', effect: 'NoSchedule' }, true],
    ['Gt: the taint is larger', { key: 'sla', operator: 'Gt', value: '750' }, { key: 'sla', value: '950', effect: 'NoSchedule' }, true],
    ['Gt: the taint is smaller', { key: 'sla', operator: 'Gt', value: '750' }, { key: 'sla', value: '500', effect: 'NoSchedule' }, false],
    ['Lt: the taint is smaller', { key: 'sla', operator: 'Lt', value: '750' }, { key: 'sla', value: '500', effect: 'NoSchedule' }, true],
    ['Lt: text is never compared', { key: 'sla', operator: 'Lt', value: '750' }, { key: 'sla', value: 'low', effect: 'NoSchedule' }, false],
  ])('with %s matches: %#', (_name, toleration, against, does) => expect(tolerates(against, toleration)).toBe(does));
});
test('PreferNoSchedule keeps a pod away only when it is asked for', () => {
  const soft: Taint = { key: 'soft', effect: 'PreferNoSchedule' };
  expect(firstUntolerated([soft], [])).toBeUndefined();
  expect(firstUntolerated([soft, taint], [])).toBe(taint);
  expect(firstUntolerated([soft], [], { includePreferred: true })).toBe(soft);
});
test.each<[Taint, boolean]>([
  [{ key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' }, true], [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }, true],
  [{ key: 'readiness.k8s.io/gpu', effect: 'NoSchedule' }, true], [{ key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' }, true],
  [taint, false],
])('%j passes while a node starts: %s', (one, does) => expect(isEphemeralTaint(one)).toBe(does));
test('a taint is described as kubectl writes it', () => expect([describeTaint(taint), describeTaint({ key: 'x', effect: 'NoExecute' })]).toEqual(['team=a:NoSchedule', 'x:NoExecute']));
describe('a label selector', () => {
  test.each([
    ['In', ['a'], { k: 'a' }, true], ['In', ['a'], {}, false], ['NotIn', ['a'], {}, true], ['NotIn', ['a'], { k: 'a' }, false],
    ['Exists', [], { k: 'x' }, true], ['DoesNotExist', [], {}, true], ['DoesNotExist', [], { k: '' }, false],
  ] as const)('%s %j on %j: %s', (operator, wanted, labels, does) =>
    expect(selectorMatches({ requirements: [{ key: 'k', operator, values: wanted }] }, labels)).toBe(does));
  test('absent selects nothing, empty everything', () => expect([selectorMatches(undefined, {}), selectorMatches({ requirements: [] }, {})]).toEqual([false, true]));
});
