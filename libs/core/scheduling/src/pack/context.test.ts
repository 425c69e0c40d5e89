import { at } from '@dovetail/core-invariant';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { gibibytes, podsOf } from '../testing/objects.js';
import {
  asking,
  type Packing,
  packingOf,
  typesBy,
  workloadPods,
  workloadsOf,
} from '../testing/packing.js';
import { totalPrice } from './bins.js';
import { demandOf } from './context.js';
import { firstFitPack } from './first-fit.js';
import { dot } from './prices.js';
import { UsableRooms } from './usable.js';

const types = typesBy([4, 16, 40], [8, 16, 70], [8, 32, 80]);

describe('the demand of portions', () => {
  const { kind } = packingOf(
    [...podsOf('one', 9, asking(1, 0)), ...podsOf('two', 9, asking(2, 0))],
    { types },
  );
  test.each<[string, readonly (readonly [string, number])[], readonly number[]]>([
    ['is nothing for none', [], [0, 0, 0]],
    ['is that of each pod', [['one', 3]], [3_000, 0, 3]],
    [
      'is summed over kinds',
      [
        ['one', 3],
        ['two', 2],
      ],
      [7_000, 0, 5],
    ],
    [
      'counts a kind as often as it is named',
      [
        ['one', 1],
        ['one', 1],
      ],
      [2_000, 0, 2],
    ],
    ['is nothing for no pods of a kind', [['two', 0]], [0, 0, 0]],
  ])('%s', (_sentence, portions, demand) => {
    const found = demandOf(
      portions.map(([name, count]) => ({ kind: kind(name), count })),
      3,
    );
    expect([...found]).toEqual(demand);
  });
});

// One type of 4 GiB a core. Fifty pods want little memory for their cpu, the others much.
test.each<[string, number, readonly [cpu: boolean, memory: boolean]]>([
  ['cpu alone has a price if much memory is left over', 20, [true, false]],
  ['both have one if a tenth more memory would be too much', 58, [true, true]],
  ['both have one if a tenth more cpu would be too much', 64, [true, true]],
  ['memory alone has one if much cpu is left over', 200, [false, true]],
])('%s', (_, count, priced) => {
  const pods = [...podsOf('flat', 50, asking(4, 1)), ...podsOf('tall', count, asking(1, 16))];
  const { duals } = packingOf(pods, { types: typesBy([16, 64, 160]) }).context;
  expect([0, 1].map((r) => (duals[r] ?? 0) > 0)).toEqual(priced);
  // No node costs less than its room is worth.
  expect(dot(duals, Float64Array.of(16_000, gibibytes(64), 110))).toBeLessThanOrEqual(160);
});

describe('the worth of a pod', () => {
  test('that fills a node exactly is what the node costs, by the best prices', () => {
    const { context, kind } = packingOf(podsOf('one', 4, asking(4, 16)), { types });
    expect(dot(context.duals, kind('one').requests)).toBeCloseTo(40, 6);
  });

  test('counts a resource that is free a little, so that more of it wins a tie', () => {
    const { context, kind } = packingOf(
      [...podsOf('cpu', 20, asking(2, 1)), ...podsOf('more', 20, asking(2, 2))],
      { types: typesBy([4, 16, 40]) },
    );
    const [less, more] = ['cpu', 'more'].map((name) => context.worth[kind(name).index] as number);
    expect(context.duals[1]).toBe(0);
    expect(more).toBeGreaterThan(less as number);
    expect(more).toBeLessThan((less as number) * 1.02);
  });

  test('counts its place in the number of pods only where that is scarce', () => {
    const { context } = packingOf(podsOf('one', 4, asking(4, 16)), { types });
    expect(context.perUnit[2]).toBe(0);
  });
});

test.each<[string, number, number]>([
  ['the bound is the price of the nodes that the pods fill', 4, 160],
  ['the bound is in whole micro-dollars, rounded down', 1, 40],
])('%s', (_sentence, count, bound) => {
  const { context } = packingOf(podsOf('one', count, asking(4, 16)), { types });
  // Prices that hold exactly are a hair below the real ones.
  expect(bound - context.bound).toBeGreaterThanOrEqual(0);
  expect(bound - context.bound).toBeLessThanOrEqual(1);
  expect(Number.isInteger(context.bound)).toBe(true);
});

const everyState = ({ kinds }: Packing): ReadonlySet<Packing['kinds'][0]['openings'][0]> =>
  new Set(kinds.flatMap(({ openings }) => openings));

describe('of any pods', () => {
  const inAny = (law: (packing: Packing) => void): void => {
    fc.assert(
      fc.property(workloadsOf('none', 'apart', 'zone'), (workloads) =>
        law(packingOf(workloadPods(workloads))),
      ),
      { seed: 1, numRuns: 40 },
    );
  };

  test('no packing costs less than the bound', () => {
    inAny(({ context }) => {
      expect(totalPrice(firstFitPack(context, Infinity) ?? [])).toBeGreaterThanOrEqual(
        context.bound,
      );
    });
  });

  test('a pod is worth what its requests are worth, which is never less than by the best prices', () => {
    inAny(({ context, kinds }) => {
      for (const { index, requests } of kinds) {
        expect(context.worth[index]).toBe(dot(context.perUnit, requests));
        expect(at(context.sizes, index)).toEqual({
          requests,
          worth: context.worth[index],
          kinds: [index],
        });
      }
      context.perUnit.forEach((price, r) =>
        expect(price).toBeGreaterThanOrEqual(context.duals[r] as number),
      );
    });
  });

  test('no target that pods can fill costs less than the part of its room that they can use is worth', () => {
    inAny((packing) => {
      const { context, kinds } = packing;
      const demand = demandOf(
        kinds.map((kind) => ({ kind, count: kind.count })),
        context.perUnit.length,
      );
      const rooms = new UsableRooms(kinds, demand);
      for (const state of everyState(packing))
        for (const { room, usable = room, price } of context.targets(state)) {
          expect(usable.every((amount, r) => amount <= (room[r] as number))).toBe(true);
          if (!rooms.of(room).niche) expect(dot(context.duals, usable)).toBeLessThanOrEqual(price);
        }
    });
  });

  test('targets come in the order of the frontier, and places by value for money', () => {
    inAny((packing) => {
      const { context } = packing;
      for (const state of everyState(packing)) {
        const targets = context.targets(state);
        const worths = context.roomWorths(state);
        expect(targets.map(({ price }) => price)).toEqual(
          state.frontier.map(({ offering }) => offering.priceMicrosPerHour),
        );
        const { places, mostWorth } = context.byValue(state);
        expect([...places].sort((a, b) => a - b)).toEqual(targets.map((_, index) => index));
        expect(mostWorth).toBe(Math.max(...worths));
        const values = [...places].map(
          (place) => (worths[place] as number) / at(targets, place).price,
        );
        expect(values).toEqual([...values].sort((a, b) => b - a));
      }
    });
  });
});
