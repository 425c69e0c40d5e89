import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import {
  conditionIsTrue,
  readConditions,
  readDurationMs,
  readLimits,
  readNodeLabels,
  readPoolRequirements,
  readPoolTaints,
} from './fields.js';

fc.configureGlobal({ seed: 1 });

describe('a duration', () => {
  test.each(['1.5h', '-1h', '250ms', '1d', '5', '', 'never'])('%j is refused', (text) =>
    expect(() => readDurationMs(text, 'after', { allowNever: true })).toThrow(
      'after: write a duration such as 30s, 10m or 336h, or Never',
    ),
  );

  test('may be Never only where it is allowed', () => {
    expect(readDurationMs('Never', 'after', { allowNever: true })).toBeUndefined();
    expect(() => readDurationMs('Never', 'after', { allowNever: false })).toThrow(/336h$/);
  });

  test('is the sum of its parts', () =>
    fc.assert(
      fc.property(fc.nat({ max: 999 }), fc.nat({ max: 99 }), fc.nat({ max: 99 }), (h, m, s) => {
        expect(readDurationMs(`${h}h${m}m${s}s`, 'after', { allowNever: false })).toBe(
          ((h * 60 + m) * 60 + s) * 1000,
        );
      }),
    ));
});

describe('conditions', () => {
  test('of an unknown word are Unknown, and without a time the oldest', () =>
    expect(readConditions({ conditions: [{ type: 'Ready', status: 'Perhaps' }] })).toEqual([
      { type: 'Ready', status: 'Unknown', reason: '', message: '', lastTransitionMs: 0 },
    ]));

  test.each<[string, string, boolean]>([
    ['Ready', 'False', false],
    ['Ready', 'Unknown', false],
    ['Other', 'True', false],
    ['Ready', 'True', true],
  ])('%s of status %s makes the object ready: %s', (type, status, is) =>
    expect(conditionIsTrue(readConditions({ conditions: [{ type, status }] }), 'Ready')).toBe(is),
  );
});

test.each<[string, Record<string, string>, RegExp]>([
  ['a key that is no name', { 'a b': 'c' }, /^labels\.a b: write the label as name/],
  ['a value that is none', { a: 'b c' }, /^labels\.a: write a label value/],
  ["a pool's label", { 'karpenter.sh/nodepool': 'x' }, /Dovetail sets/],
])('labels with %s are refused', (_name, labels, message) =>
  expect(() => readNodeLabels(labels, 'labels')).toThrow(message),
);

describe('taints of a pool', () => {
  const taint = (key: string, effect = 'NoSchedule'): object => ({ key, effect });

  test.each<[string, object, string]>([
    ['a key that is no name', { taints: [taint('a b')] }, 'spec.taints[0].key'],
    [
      'a value that is none',
      { startupTaints: [{ ...taint('a'), value: 'b c' }] },
      'spec.startupTaints[0].value',
    ],
    ['a taint twice', { taints: [taint('a'), taint('a')] }, 'spec.taints[1]'],
    [
      'a taint that is also a startup taint',
      { taints: [taint('a')], startupTaints: [taint('a')] },
      'spec.startupTaints[0]',
    ],
  ])('with %s are refused', (_name, spec, field) =>
    expect(() => readPoolTaints(spec as Record<string, unknown>, 'spec')).toThrow(`${field}: `),
  );

  test('may have one key with two effects', () =>
    expect(
      readPoolTaints({ taints: [taint('a'), taint('a', 'NoExecute')] }, 'spec').taints,
    ).toHaveLength(2));
});

describe('requirements of a pool', () => {
  const read = (spec: object): unknown => readPoolRequirements([{ key: 'k', ...spec }], 'r');

  test.each<[string, object, string]>([
    ['In without values', { operator: 'In', values: [] }, 'r[0].values'],
    ['Gt of two values', { operator: 'Gt', values: ['1', '2'] }, 'r[0].values'],
    ['Lt of a text', { operator: 'Lt', values: ['x'] }, 'r[0].values'],
    ['Gte of a negative number', { operator: 'Gte', values: ['-1'] }, 'r[0].values'],
    ['a value that is none', { operator: 'In', values: ['a b'] }, 'r[0].values'],
    ['minValues above 50', { operator: 'Exists', minValues: 51 }, 'r[0].minValues'],
    [
      'fewer values than minValues',
      { operator: 'In', values: ['a'], minValues: 2 },
      'r[0].minValues',
    ],
    ['a restricted key', { key: 'kubernetes.io/hostname', operator: 'Exists' }, 'r[0].key'],
    ['a key that is no name', { key: 'a/b/c', operator: 'Exists' }, 'r[0].key'],
  ])('with %s are refused', (_name, spec, field) => expect(() => read(spec)).toThrow(`${field}: `));

  test.each<[readonly string[], number | undefined, boolean]>([
    [['mars'], undefined, false],
    [['spot', 'mars'], 2, false],
    [['spot', 'mars'], 1, true],
    [['spot', 'mars'], undefined, true],
    [['spot', 'on-demand'], 2, true],
  ])('of capacity types %j with minValues %j are taken: %s', (values, minValues, ok) => {
    const spec = { key: 'karpenter.sh/capacity-type', operator: 'In', values, minValues };
    const taken = (): unknown => read(spec);
    if (ok) expect(taken()).toHaveLength(1);
    else expect(taken).toThrow('use on-demand, spot, reserved');
  });

  test('are at most a hundred', () => {
    const many = (length: number): object[] =>
      Array.from({ length }, () => ({ key: 'k', operator: 'Exists' }));
    expect(readPoolRequirements(many(100), 'r')).toHaveLength(100);
    expect(() => readPoolRequirements(many(101), 'r')).toThrow('write at most 100 requirements');
  });
});

test('a negative limit is refused by name, and zero is a limit', () => {
  expect(readLimits({ cpu: '0', nodes: '3' }, 'limits')).toEqual({ cpu: 0, nodes: 3 });
  expect(() => readLimits({ memory: '-1Gi' }, 'limits')).toThrow('limits.memory: ');
});

test('nulls in maps of a custom resource are dropped, as the API server drops them', () => {
  expect(readLimits({ cpu: null, memory: '1Gi' }, 'spec.limits')).toEqual({ memory: 1024 ** 3 });
  expect(readNodeLabels({ a: null, b: 'c' }, 'labels')).toEqual({ b: 'c' });
});
