import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { Taint, Toleration } from './index.js';
import { describeTaint, firstUntolerated, isEphemeralTaint, tolerates } from './index.js';

fc.configureGlobal({ seed: 1 });

const taint: Taint = { key: 'team', value: 'a', effect: 'NoSchedule' };
describe('a toleration', () => {
  test.each<[string, Toleration, Taint, boolean]>([
    ['equal key and value', { key: 'team', operator: 'Equal', value: 'a' }, taint, true],
    ['another value', { key: 'team', operator: 'Equal', value: 'b' }, taint, false],
    ['another key', { key: 'other', operator: 'Equal', value: 'a' }, taint, false],
    ['Exists with the key', { key: 'team', operator: 'Exists' }, taint, true],
    ['Exists without a key', { operator: 'Exists' }, taint, true],
    ['another effect', { key: 'team', operator: 'Exists', effect: 'NoExecute' }, taint, false],
    [
      'an absent value equals the empty one',
      { key: 'team', operator: 'Equal' },
      { key: 'team', effect: 'NoSchedule' },
      true,
    ],
    [
      'Gt: the taint is larger',
      { key: 'sla', operator: 'Gt', value: '750' },
      { key: 'sla', value: '950', effect: 'NoSchedule' },
      true,
    ],
    [
      'Gt: the taint is smaller',
      { key: 'sla', operator: 'Gt', value: '750' },
      { key: 'sla', value: '500', effect: 'NoSchedule' },
      false,
    ],
    [
      'Lt: the taint is smaller',
      { key: 'sla', operator: 'Lt', value: '750' },
      { key: 'sla', value: '500', effect: 'NoSchedule' },
      true,
    ],
    [
      'Lt: text is never compared',
      { key: 'sla', operator: 'Lt', value: '750' },
      { key: 'sla', value: 'low', effect: 'NoSchedule' },
      false,
    ],
  ])('with %s matches: %#', (_name, toleration, against, does) =>
    expect(tolerates(against, toleration)).toBe(does),
  );
});
test('PreferNoSchedule keeps a pod away only when it is asked for', () => {
  const soft: Taint = { key: 'soft', effect: 'PreferNoSchedule' };
  expect(firstUntolerated([soft], [])).toBeUndefined();
  expect(firstUntolerated([soft, taint], [])).toBe(taint);
  expect(firstUntolerated([soft], [], { includePreferred: true })).toBe(soft);
});
test.each<[Taint, boolean]>([
  [{ key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' }, true],
  [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }, true],
  [{ key: 'readiness.k8s.io/gpu', effect: 'NoSchedule' }, true],
  [
    { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' },
    true,
  ],
  [taint, false],
])('%j passes while a node starts: %s', (one, does) => expect(isEphemeralTaint(one)).toBe(does));
test('a taint is described as kubectl writes it', () =>
  expect([describeTaint(taint), describeTaint({ key: 'x', effect: 'NoExecute' })]).toEqual([
    'team=a:NoSchedule',
    'x:NoExecute',
  ]));

describe('the laws of toleration', () => {
  const key = fc.constantFrom('a', 'b');
  const effect = fc.constantFrom(
    'NoSchedule' as const,
    'PreferNoSchedule' as const,
    'NoExecute' as const,
  );
  const value = fc.constantFrom('', '1', '2', 'x');
  const anyTaint: fc.Arbitrary<Taint> = fc.record({ key, value, effect });
  const anyToleration: fc.Arbitrary<Toleration> = fc.record(
    {
      key,
      operator: fc.constantFrom('Equal' as const, 'Exists' as const, 'Lt' as const, 'Gt' as const),
      value,
      effect,
    },
    { requiredKeys: ['operator'] },
  );

  test('Exists without key and effect tolerates every taint', () =>
    fc.assert(fc.property(anyTaint, (one) => tolerates(one, { operator: 'Exists' }))));

  test('Exists tolerates whatever another operator on the same key and effect does', () =>
    fc.assert(
      fc.property(
        anyTaint,
        anyToleration,
        (one, toleration) =>
          !tolerates(one, toleration) || tolerates(one, { ...toleration, operator: 'Exists' }),
      ),
    ));

  test('a toleration without an effect tolerates whatever it does with one', () =>
    fc.assert(
      fc.property(anyTaint, anyToleration, (one, { effect: own, ...rest }) => {
        const narrow: Toleration = own === undefined ? rest : { ...rest, effect: own };
        expect(!tolerates(one, narrow) || tolerates(one, rest)).toBe(true);
      }),
    ));

  test('more tolerations never keep a pod away, and more taints never let it in', () =>
    fc.assert(
      fc.property(
        fc.array(anyTaint),
        fc.array(anyToleration),
        anyToleration,
        anyTaint,
        (taints, has, more, other) => {
          const options = { includePreferred: true };
          const away = firstUntolerated(taints, has, options) !== undefined;
          if (!away) expect(firstUntolerated(taints, [...has, more], options)).toBeUndefined();
          if (away) expect(firstUntolerated([...taints, other], has, options)).toBeDefined();
        },
      ),
    ));

  test('a preferred taint never keeps a pod away by itself', () =>
    fc.assert(
      fc.property(fc.array(anyTaint), fc.array(anyToleration), (taints, has) => {
        expect(firstUntolerated(taints, has)?.effect).not.toBe('PreferNoSchedule');
      }),
    ));
});
