import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { type Buyable, dot, resourcePrices } from './prices.js';

const node = (cpu: number, memory: number, price: number, gpu = 0): Buyable => ({
  room: Float64Array.of(cpu, memory, gpu),
  price,
});
const sum = (amounts: Iterable<number>): number => [...amounts].reduce((all, one) => all + one, 0);

describe('the least that a demand costs', () => {
  test.each<
    [
      string,
      readonly Buyable[],
      readonly number[],
      { readonly total: number; readonly nodes: readonly number[] },
    ]
  >([
    [
      'is the price of the node that it fills',
      [node(4, 16, 40)],
      [4, 16],
      { total: 40, nodes: [1] },
    ],
    ['is half of it for half of the node', [node(4, 16, 40)], [2, 8], { total: 20, nodes: [0.5] }],
    ['is decided by the scarce resource', [node(4, 16, 40)], [8, 1], { total: 80, nodes: [2] }],
    [
      'is that of the cheaper of two equal nodes',
      [node(4, 16, 41), node(4, 16, 40)],
      [4, 16],
      { total: 40, nodes: [0, 1] },
    ],
    [
      'is that of a mixture where one holds much of each resource',
      [node(4, 8, 40), node(4, 32, 55)],
      [8, 40],
      { total: 95, nodes: [1, 1] },
    ],
    ['is nothing when nothing is asked for', [node(4, 16, 40)], [0, 0], { total: 0, nodes: [0] }],
    ['is nothing when nothing can be bought', [], [4, 16], { total: 0, nodes: [] }],
    [
      'leaves out a resource that no node has',
      [node(4, 16, 40)],
      [4, 16, 1],
      { total: 40, nodes: [1] },
    ],
    [
      'counts a resource that some nodes have',
      [node(4, 16, 40), node(4, 16, 100, 1)],
      [4, 16, 0.5],
      { total: 70, nodes: [0.5, 0.5] },
    ],
  ])('%s', (_sentence, offers, demand, expected) => {
    const found = resourcePrices(
      offers,
      Float64Array.of(...demand, ...(demand[2] === undefined ? [0] : [])),
    );
    expect(found.total).toBeCloseTo(expected.total, 6);
    expect(found.nodes).toHaveLength(expected.nodes.length);
    expected.nodes.forEach((count, index) => expect(found.nodes[index]).toBeCloseTo(count, 6));
  });

  test('calls free what is left over in any case', () => {
    const { perUnit } = resourcePrices([node(4, 16, 40)], Float64Array.of(8, 1, 0));
    expect(perUnit[0]).toBeCloseTo(10, 6);
    expect([perUnit[1], perUnit[2]]).toEqual([0, 0]);
  });
});

const amount = fc.integer({ min: 0, max: 64 });
const offers = fc.array(
  fc
    .tuple(amount, amount, fc.integer({ min: 0, max: 2 }), fc.integer({ min: 1, max: 1_000_000 }))
    .map(([cpu, gib, gpu, price]) => node(cpu * 1000, gib * 2 ** 30, price, gpu)),
  { minLength: 1, maxLength: 12 },
);
const demands = fc
  .tuple(amount, amount, fc.integer({ min: 0, max: 3 }))
  .map(([cpu, gib, gpu]) => Float64Array.of(cpu * 10_000, gib * 2 ** 33, gpu));

describe('for any nodes and any demand', () => {
  test('no node costs less than its room is worth, and the total is what the demand is worth', () => {
    fc.assert(
      fc.property(offers, demands, (buyable, demand) => {
        const { perUnit, total } = resourcePrices(buyable, demand);
        expect(Math.min(...perUnit)).toBeGreaterThanOrEqual(0);
        for (const { room, price } of buyable)
          expect(dot(perUnit, room)).toBeLessThanOrEqual(price);
        expect(total).toBe(dot(perUnit, demand));
      }),
      { seed: 1, numRuns: 500 },
    );
  });

  test('the fractions of nodes hold what some node has of the demand, and cost the total', () => {
    fc.assert(
      fc.property(offers, demands, (buyable, demand) => {
        const { nodes, total } = resourcePrices(buyable, demand);
        expect(Math.min(...nodes)).toBeGreaterThanOrEqual(0);
        demand.forEach((wanted, r) => {
          if (!buyable.some(({ room }) => (room[r] as number) > 0)) return;
          const held = sum(
            buyable.map(({ room }, index) => (room[r] as number) * (nodes[index] as number)),
          );
          expect(held).toBeGreaterThanOrEqual(wanted * (1 - 1e-6));
        });
        const paid = sum(buyable.map(({ price }, index) => price * (nodes[index] as number)));
        expect(Math.abs(paid - total)).toBeLessThanOrEqual(1e-6 * Math.max(1, paid));
      }),
      { seed: 2, numRuns: 500 },
    );
  });
});
