import { compareText } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { cloneJson, equalJson, textOf, valueAt, withValueAt } from './json.js';

describe('equality of JSON values', () => {
  test.each([
    ['an absent field equals an undefined one', { a: 1 }, { a: 1, b: undefined }, true],
    ['null is not absent', { a: null }, {}, false],
    ['the order of fields does not matter', { a: 1, b: 2 }, { b: 2, a: 1 }, true],
    ['the order of items matters', [1, 2], [2, 1], false],
    ['a list is no object', [], {}, false],
    ['text is no number', '1', 1, false],
  ])('%s', (_sentence, left, right, equal) => {
    expect(equalJson(left, right)).toBe(equal);
    expect(equalJson(right, left)).toBe(equal);
  });

  test('a copy equals its original and shares nothing with it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const copy = cloneJson(value);
        expect(equalJson(copy, value)).toBe(true);
        if (typeof value === 'object' && value !== null) expect(copy).not.toBe(value);
      }),
    );
  });
});

describe('a value at a path', () => {
  const path = fc.array(fc.constantFrom('spec', 'status', 'name'), { minLength: 1, maxLength: 4 });

  test('is what was put there', () => {
    fc.assert(
      fc.property(path, fc.integer(), (steps, value) => {
        expect(valueAt(withValueAt({}, steps, value), steps)).toBe(value);
      }),
    );
  });

  test.each([
    [['spec', 'containers', '1', 'name'], 'b'],
    [['spec', 'containers', '7'], undefined],
    [['spec', 'containers', '0', 'name', 'letter'], undefined],
    [[], { spec: { containers: [{ name: 'a' }, { name: 'b' }] } }],
  ])('%j leads to %j', (steps, value) => {
    const pod = { spec: { containers: [{ name: 'a' }, { name: 'b' }] } };
    expect(valueAt(pod, steps)).toEqual(value);
  });

  test('replacing one leaves its neighbours as they are', () => {
    const object = { spec: { replicas: 1, paused: true } };
    expect(withValueAt(object, ['spec', 'replicas'], 2)).toEqual({
      spec: { replicas: 2, paused: true },
    });
    expect(object.spec.replicas).toBe(1);
  });
});

test.each([
  ['a', 'a'],
  [3, '3'],
  [true, 'true'],
  [null, ''],
  [{}, ''],
])('%j as text is %j', (value, text) => {
  expect(textOf(value)).toBe(text);
});

test('texts are ordered by code units, the same way round from both sides', () => {
  expect(['b', 'B', 'a', 'á'].sort(compareText)).toEqual(['B', 'a', 'b', 'á']);
  fc.assert(
    fc.property(fc.string(), fc.string(), (left, right) => {
      expect(compareText(left, right) + compareText(right, left)).toBe(0);
      expect(compareText(left, right) === 0).toBe(left === right);
    }),
  );
});
