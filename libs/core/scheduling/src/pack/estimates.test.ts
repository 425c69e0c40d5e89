import { at } from '@dovetail/core-invariant';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { podsOf } from '../testing/objects.js';
import { asking, binWith, packingOf, typesBy } from '../testing/packing.js';
import { type Ask, byRatio, type Estimate, targetsFor } from './estimates.js';
import { worthOf } from './fill.js';
import { dot } from './prices.js';

const packing = packingOf(
  [...podsOf('one', 40, asking(1, 4)), ...podsOf('wide', 10, asking(1, 1))],
  { types: typesBy([2, 4, 8], [2, 8, 10], [4, 16, 19], [8, 32, 40], [16, 64, 82], [64, 256, 300]) },
);
const { context, kind } = packing;
const state = at(kind('one').openings, 0);
const ask = (over: Partial<Ask> = {}): Ask => ({
  need: kind('one').requests,
  supplyWorth: Infinity,
  grow: undefined,
  most: 3,
  ...over,
});
const pricesFor = (over: Partial<Ask>): readonly number[] =>
  targetsFor(context, state, ask(over)).map(({ target }) => target.price);

/**
 * Value per dollar of every target that holds what is needed, looking at all of them; the best
 * first.
 */
function everyRatio({ need, supplyWorth, grow }: Ask): readonly number[] {
  const [base, paid] = grow === undefined ? [0, 0] : [worthOf(context, grow), grow.price];
  return state.frontier
    .flatMap(({ type, offering }, index) => {
      const price = offering.priceMicrosPerHour;
      const worth = (context.roomWorths(state)[index] as number) - base;
      const holds = need.every((wanted, r) => wanted <= (type.room[r] as number));
      return !holds || (grow !== undefined && price <= paid)
        ? []
        : [Math.min(worth, supplyWorth) / (price - paid)];
    })
    .sort((a, b) => b - a);
}

describe('targets for a node', () => {
  test('are as many as asked for', () => {
    expect(pricesFor({ most: 2 })).toHaveLength(2);
    expect(pricesFor({ most: 100 })).toHaveLength(state.frontier.length);
  });

  test('are those alone that hold what the node needs', () => {
    expect([...pricesFor({ need: Float64Array.of(9_000, 0, 1), most: 9 })].sort()).toEqual([
      300, 82,
    ]);
    expect(pricesFor({ need: Float64Array.of(65_000, 0, 1), most: 9 })).toEqual([]);
  });

  test('are the small ones first where little is left to fill them with', () => {
    const supplyWorth = dot(context.perUnit, kind('one').requests);
    expect(pricesFor({ supplyWorth, most: 1 })).toEqual([8]);
  });

  test('to grow a node are dearer than the node', () => {
    const grow = binWith(packing, { one: 4 });
    expect(grow.price).toBe(19);
    expect([...pricesFor({ grow, need: grow.used, most: 9 })].sort((a, b) => a - b)).toEqual([
      40, 82, 300,
    ]);
  });

  test('of the largest node to grow are none', () => {
    const grow = binWith(packing, { one: 64 });
    expect(pricesFor({ grow, need: grow.used, most: 9 })).toEqual([]);
  });
});

test('targets are the best of all that hold what is needed, each with the value it promises', () => {
  const most = context.byValue(state).mostWorth;
  fc.assert(
    fc.property(
      fc.record({
        pods: fc.nat(20),
        supply: fc.constantFrom(0.01, 0.2, 0.7, 1, 2),
        most: fc.integer({ min: 1, max: 8 }),
        growing: fc.boolean(),
      }),
      ({ pods, supply, most: count, growing }) => {
        const grow = binWith(packing, { one: pods });
        const asked = ask({
          need: grow.used,
          supplyWorth: supply * most,
          most: count,
          grow: growing ? grow : undefined,
        });
        const found = targetsFor(context, state, asked);
        const expected = everyRatio(asked).slice(0, count);
        expect(found).toHaveLength(expected.length);
        found.forEach(({ ratio }, index) =>
          expect(ratio).toBeCloseTo(expected[index] as number, 9),
        );
      },
    ),
    { seed: 1, numRuns: 300 },
  );
});

test.each<[string, readonly [number, number], readonly [number, number], number]>([
  ['the better value comes first, even when it is dearer', [2, 50], [1, 10], -1],
  ['the worse value comes last, even when it is cheaper', [1, 10], [2, 50], 1],
  ['of equal value the cheaper comes first', [1, 10], [1, 50], -1],
  ['equal value at an equal price is equal', [1, 10], [1, 10], 0],
])('%s', (_sentence, one, two, sign) => {
  const estimate = ([ratio, price]: readonly [number, number]): Estimate => ({
    target: { room: new Float64Array(0), price },
    state,
    ratio,
    grow: undefined,
  });
  expect(Math.sign(byRatio(estimate(one), estimate(two)))).toBe(sign);
});
