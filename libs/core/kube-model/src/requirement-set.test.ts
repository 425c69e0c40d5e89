import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import {
  absent,
  admits,
  admitsAbsence,
  anyValue,
  describeSet,
  hasIntersection,
  integerOf,
  intersectSets,
  isEmptySet,
  noValue,
} from './requirement-set.js';
import { setOfSpec } from './requirements.js';
import { anySet, equalSets, spec, values } from './testing/requirements.js';

fc.configureGlobal({ seed: 1 });

describe('a requirement admits', () => {
  test.each([
    [spec('In', 'a', 'b'), 'a', true],
    [spec('In', 'a'), 'b', false],
    [spec('NotIn', 'a'), 'b', true],
    [spec('NotIn', 'a'), 'a', false],
    [spec('Exists'), 'anything', true],
    [spec('DoesNotExist'), 'anything', false],
    [spec('Gt', '2'), '3', true],
    [spec('Gt', '2'), '2', false],
    [spec('Gt', '2'), 'x', false],
    [spec('Lt', '2'), '1', true],
    [spec('Lt', '2'), '2', false],
    [spec('Gte', '2'), '2', true],
    [spec('Lte', '2'), '2', true],
    [spec('Lte', '2'), '3', false],
    [spec('Gt', 'x'), '3', false],
    [spec('Gt', '1', '2'), '3', false],
  ])('%j and %s: %s', (one, value, admitted) =>
    expect(admits(setOfSpec(one), value)).toBe(admitted),
  );

  test.each([
    [spec('In', 'a'), false],
    [spec('NotIn', 'a'), true],
    [spec('Exists'), false],
    [spec('DoesNotExist'), true],
    [spec('Gt', '1'), false],
  ])('%j and an absent label: %s', (one, admitted) =>
    expect(admitsAbsence(setOfSpec(one))).toBe(admitted),
  );
});

describe('the algebra holds for every set', () => {
  test('the intersection admits a value exactly when both sides do', () =>
    fc.assert(
      fc.property(
        anySet,
        anySet,
        fc.constantFrom(...values, '9'),
        (a, b, value) =>
          admits(intersectSets(a, b), value) === (admits(a, value) && admits(b, value)),
      ),
    ));
  test('the intersection admits absence exactly when both sides do', () =>
    fc.assert(
      fc.property(
        anySet,
        anySet,
        (a, b) => admitsAbsence(intersectSets(a, b)) === (admitsAbsence(a) && admitsAbsence(b)),
      ),
    ));
  test('intersection is commutative', () =>
    fc.assert(
      fc.property(anySet, anySet, (a, b) => equalSets(intersectSets(a, b), intersectSets(b, a))),
    ));
  test('intersection is associative', () =>
    fc.assert(
      fc.property(anySet, anySet, anySet, (a, b, c) =>
        equalSets(intersectSets(intersectSets(a, b), c), intersectSets(a, intersectSets(b, c))),
      ),
    ));
  test('anyValue is the identity and every set is idempotent', () =>
    fc.assert(
      fc.property(
        anySet,
        (a) => equalSets(intersectSets(a, anyValue), a) && equalSets(intersectSets(a, a), a),
      ),
    ));
  test('hasIntersection says whether the intersection is empty', () =>
    fc.assert(
      fc.property(
        anySet,
        anySet,
        (a, b) => hasIntersection(a, b) === !isEmptySet(intersectSets(a, b)),
      ),
    ));
});

test('the larger minValues stays', () =>
  expect(
    intersectSets({ ...anyValue, minValues: 2 }, { ...anyValue, minValues: 5 }).minValues,
  ).toBe(5));

describe('a set is written', () => {
  test.each([
    [noValue, 'In [] (nothing can match)'],
    [absent, 'DoesNotExist'],
    [anyValue, 'any value'],
    [setOfSpec(spec('Exists')), 'Exists'],
    [setOfSpec(spec('In', 'b', 'a')), 'In [a, b]'],
    [setOfSpec(spec('NotIn', 'a')), 'NotIn [a]'],
    [intersectSets(setOfSpec(spec('Gt', '2')), setOfSpec(spec('NotIn', '7'))), 'Gte 3, NotIn [7]'],
    [setOfSpec(spec('In', ...'abcdefghij')), 'In [a, b, c, d, e, f, g, h, … 2 more]'],
  ])('%j as %s', (set, text) => expect(describeSet(set)).toBe(text));
});

test.each<[string, number | undefined]>([
  ['', undefined],
  ['1.5', undefined],
  ['1e3', undefined],
  ['x', undefined],
  ['9007199254740992', undefined],
  ['9007199254740991', 9_007_199_254_740_991],
  ['007', 7],
  ['-3', -3],
  ['+3', 3],
])('%j spells the integer %p', (text, integer) => expect(integerOf(text)).toBe(integer));
