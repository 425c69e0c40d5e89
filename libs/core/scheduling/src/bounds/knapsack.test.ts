import { at, float64At } from '@dovetail/core-invariant';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { Knapsack } from './knapsack.js';
import type { Item } from './loads.js';
import type { MayShare } from './sharing.js';

const itemOf = (requests: readonly number[], count: number): Item => ({
  requests: Float64Array.from(requests),
  count,
});
const sackOf = (room: readonly number[], admitted: readonly boolean[] = []) => ({
  room: Float64Array.from(room),
  admits: (item: number) => admitted[item] ?? true,
});
const enough = () => ({ visits: 1_000_000 });
const apart: MayShare = (counts) => counts.every((count) => count === 0);

describe('the worthiest load of a node', () => {
  const two = [itemOf([1], 4), itemOf([2], 2)];
  test.each<[string, readonly number[], readonly boolean[], MayShare | undefined, unknown]>([
    ['is none of a node that is too small', [0.5], [], undefined, undefined],
    ['is none if no load is worth more than the least', [1], [], undefined, undefined],
    ['fills the node', [3], [], undefined, [1, 1]],
    ['holds no more pods than there are', [99], [], undefined, [4, 2]],
    ['holds only what the node admits', [3], [true, false], undefined, [3, 0]],
    ['keeps to what may share', [3], [], apart, [0, 1]],
  ])('%s', (_, room, admitted, mayShare, counts) => {
    const found = new Knapsack(two, mayShare).worthiest(
      sackOf(room, admitted),
      Float64Array.of(2, 5),
      { least: 2, budget: enough() },
    );
    expect(found.counts).toEqual(counts);
  });
  test('is worth no more than is said, also if the budget ends the search', () => {
    const items = Array.from({ length: 12 }, (_, index) => itemOf([7 + index], 3));
    const worths = Float64Array.from(items, (_, index) => 7.1 + index);
    const what = (visits: number) => ({ least: 0, budget: { visits } });
    const knapsack = new Knapsack(items);
    const all = knapsack.worthiest(sackOf([100]), worths, what(1e6));
    const some = knapsack.worthiest(sackOf([100]), worths, what(20));
    expect(some.most).toBeGreaterThanOrEqual(all.most);
    expect(some.counts).toBeDefined();
  });
});

const worthOf = (counts: readonly number[], worths: readonly number[]): number =>
  counts.reduce((sum, count, item) => sum + count * at(worths, item), 0);

/** All loads of a node that no further pod fits. */
function fullest(items: readonly Item[], room: readonly number[]): readonly number[][] {
  const fits = (counts: readonly number[]): boolean =>
    room.every(
      (amount, r) =>
        items.reduce((sum, { requests }, i) => sum + at(counts, i) * float64At(requests, r), 0) <=
        amount,
    );
  const all = items.reduce<readonly number[][]>(
    (some, { count }) =>
      some.flatMap((one) => Array.from({ length: count + 1 }, (_, more) => [...one, more])),
    [[]],
  );
  const more = (counts: readonly number[], item: number): readonly number[] =>
    counts.map((count, other) => (other === item ? count + 1 : count));
  return all
    .filter(fits)
    .filter((one) =>
      items.every(({ count }, item) => at(one, item) === count || !fits(more(one, item))),
    );
}

const worlds = fc.record({
  items: fc.array(
    fc.record({
      requests: fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 2, maxLength: 2 }),
      count: fc.integer({ min: 1, max: 3 }),
      worth: fc.integer({ min: 0, max: 9 }),
    }),
    { minLength: 1, maxLength: 4 },
  ),
  room: fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 2, maxLength: 2 }),
  least: fc.integer({ min: 0, max: 20 }),
});

test('the worthiest load is that of all loads, and the loads are those worth enough', () =>
  fc.assert(
    fc.property(worlds, ({ items: drawn, room, least }) => {
      const items = drawn.map(({ requests, count }) => itemOf(requests, count));
      const worths = drawn.map(({ worth }) => worth);
      const knapsack = new Knapsack(items);
      const every = fullest(items, room);
      const all = every.filter((counts) => worthOf(counts, worths) > least);
      const best = Math.max(least, ...all.map((counts) => worthOf(counts, worths)));
      const found = knapsack.worthiest(sackOf(room), Float64Array.from(worths), {
        least,
        budget: enough(),
      });
      expect(found.counts === undefined ? least : worthOf(found.counts, worths)).toBe(best);
      for (const counts of every)
        expect(found.most).toBeGreaterThanOrEqual(worthOf(counts, worths) - 1e-6);
      expect(found.most).toBeLessThanOrEqual(best + 1e-6);
      const told: (readonly number[])[] = [];
      const ended = knapsack.loads(sackOf(room), Float64Array.from(worths), {
        least: () => least,
        budget: enough(),
        found: (counts) => told.push(counts),
      });
      expect(ended).toBe(true);
      const worthy = told.filter((counts) => worthOf(counts, worths) > least);
      expect(worthy.map(String).sort()).toEqual(all.map(String).sort());
    }),
    { seed: 1, numRuns: 300 },
  ));
