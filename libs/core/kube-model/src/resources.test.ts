import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { Resources } from './quantity.js';
import {
  addResources,
  fits,
  maxResources,
  noResources,
  subtractResources,
  sumResources,
} from './resources.js';

fc.configureGlobal({ seed: 1 });

const anyResources: fc.Arbitrary<Resources> = fc.dictionary(
  fc.constantFrom('cpu', 'memory', 'pods'),
  fc.nat({ max: 1_000_000 }),
);
/** Absent means zero, so amounts are compared by name with zero filled in. */
const amounts = (resources: Resources): readonly number[] =>
  ['cpu', 'memory', 'pods'].map((name) => resources[name] ?? 0);

describe('resources', () => {
  test('add, subtract, max and sum count absent names as zero', () => {
    expect(addResources({ a: 1 }, { a: 2, b: 3 })).toEqual({ a: 3, b: 3 });
    expect(subtractResources({ a: 1 }, { a: 2, b: 3 })).toEqual({ a: -1, b: -3 });
    expect(maxResources({ a: 1, c: 5 }, { a: 2, b: 3 })).toEqual({ a: 2, b: 3, c: 5 });
    expect(sumResources([{ a: 1 }, { b: 2 }, { a: 3 }])).toEqual({ a: 4, b: 2 });
  });
  test.each([
    [{ cpu: 1 }, { cpu: 1 }, true],
    [{ cpu: 2 }, { cpu: 1 }, false],
    [{ gpu: 1 }, { cpu: 1 }, false],
    [{ gpu: 0 }, { cpu: 1 }, true],
    [{}, { cpu: -1 }, false],
  ])('%j fits into %j: %s', (requests, available, does) =>
    expect(fits(requests as Record<string, number>, available as Record<string, number>)).toBe(
      does,
    ),
  );
});

describe('the sums hold for all amounts', () => {
  test('addition is commutative and has no resources as its identity', () =>
    fc.assert(
      fc.property(anyResources, anyResources, (a, b) => {
        expect(amounts(addResources(a, b))).toEqual(amounts(addResources(b, a)));
        expect(amounts(addResources(a, noResources))).toEqual(amounts(a));
      }),
    ));

  test('subtraction undoes addition', () =>
    fc.assert(
      fc.property(anyResources, anyResources, (a, b) => {
        expect(amounts(subtractResources(addResources(a, b), b))).toEqual(amounts(a));
      }),
    ));

  test('the sum of many is the sum of its parts in any order', () =>
    fc.assert(
      fc.property(fc.array(anyResources), (all) => {
        const folded = all.toReversed().reduce(addResources, noResources);
        expect(amounts(sumResources(all))).toEqual(amounts(folded));
      }),
    ));

  test('requests fit exactly where nothing is missing afterwards', () =>
    fc.assert(
      fc.property(anyResources, anyResources, (requests, available) => {
        expect(fits(requests, available)).toBe(
          amounts(subtractResources(available, requests)).every((left) => left >= 0),
        );
      }),
    ));

  test('both sides fit into the larger by name', () =>
    fc.assert(
      fc.property(anyResources, anyResources, (a, b) => {
        const larger = maxResources(a, b);
        expect([fits(a, larger), fits(b, larger)]).toEqual([true, true]);
      }),
    ));
});
