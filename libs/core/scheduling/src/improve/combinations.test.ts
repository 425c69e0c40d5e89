import { describe, expect, test } from 'vitest';

import { type Target } from '../pack/packing.js';
import { resourcePrices } from '../pack/prices.js';
import { type CombinationLimits, combinationsFor } from './combinations.js';
import { RandomNumbers } from './random-numbers.js';

const target = (cpu: number, memory: number, price: number): Target => ({
  room: Float64Array.of(cpu, memory),
  price,
});
const limits: CombinationLimits = {
  countMin: 1,
  countMax: 3,
  priceMax: 1_000_000,
  visitsMax: 1_000_000,
  keptMax: 1_000,
};
const types = [target(4, 8, 40), target(8, 16, 78), target(4, 32, 55), target(16, 32, 150)];

function found(
  demand: readonly number[],
  over: Partial<CombinationLimits> & { readonly given?: readonly Target[] } = {},
): readonly (readonly number[])[] {
  const wanted = Float64Array.from(demand);
  const { perUnit } = resourcePrices(types, wanted);
  return combinationsFor(types, {
    demand: wanted,
    given: over.given ?? [],
    perUnit,
    limits: { ...limits, ...over },
  }).map(({ targets }) => targets.map(({ price }) => price).sort((a, b) => a - b));
}

describe('combinations of node types', () => {
  test.each<
    [string, readonly number[], Parameters<typeof found>[1], readonly number[] | undefined]
  >([
    ['one node that holds everything', [4, 8], {}, [40]],
    ['two kinds together where that is cheapest', [8, 40], {}, [40, 55]],
    ['a large node instead of two small ones when it costs less', [8, 16], {}, [78]],
    ['exactly as many nodes as asked for', [8, 16], { countMin: 2, countMax: 2 }, [40, 40]],
    ['no more nodes than allowed', [12, 24], { countMax: 1 }, [150]],
    [
      'nodes that are given, and what they leave to cover',
      [12, 24],
      { given: [target(8, 16, 78)] },
      [40, 78],
    ],
    ['nothing above the highest price', [12, 24], { priceMax: 117 }, undefined],
    ['nothing that holds too little', [80, 8], {}, undefined],
  ])('%s', (_, demand, over, cheapest) => expect(found(demand, over)[0]).toEqual(cheapest));

  test('come cheapest first, none twice, each at the sum of its prices', () => {
    const all = found([10, 40]);
    const sums = all.map((prices) => prices.reduce((sum, price) => sum + price, 0));
    expect(new Set(all.map(String)).size).toBe(all.length);
    expect(sums).toEqual([...sums].sort((a, b) => a - b));
  });

  test('the cheapest is as cheap as trying every set of three', () => {
    const random = new RandomNumbers(7);
    const draw = (): number => 1 + random.below(30);
    for (let round = 0; round < 100; round += 1) {
      const offers = Array.from({ length: 6 }, () => target(draw(), draw(), draw()));
      const demand = Float64Array.of(draw(), draw());
      const { perUnit } = resourcePrices(offers, demand);
      const [best] = combinationsFor(offers, { demand, given: [], perUnit, limits });
      const sets = offers.flatMap((a) => [
        [a],
        ...offers.flatMap((b) => [[a, b], ...offers.map((c) => [a, b, c])]),
      ]);
      const holding = sets.filter((set) =>
        demand.every(
          (amount, r) => set.reduce((sum, { room }) => sum + (room[r] as number), 0) >= amount,
        ),
      );
      const least = Math.min(
        ...holding.map((set) => set.reduce((sum, { price }) => sum + price, 0)),
      );
      expect(best?.price ?? Infinity).toBe(least);
    }
  });
});
