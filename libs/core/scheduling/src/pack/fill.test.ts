import { at } from '@dovetail/core-invariant';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { podsOf } from '../testing/objects.js';
import {
  asking,
  binWith,
  type Packing,
  packingOf,
  rules,
  typesBy,
  workloadPods,
  workloadsOf,
} from '../testing/packing.js';
import { copyOf, emptyBin } from './bins.js';
import { fill, filled, fillUp, stillBuys, type Supply, worthOf } from './fill.js';
import type { PackBin, Target } from './packing.js';
import { Stock } from './stock.js';

const packing = packingOf(
  [
    ...podsOf('large', 3, asking(3, 4)),
    ...podsOf('small', 9, asking(1, 2)),
    ...podsOf('apart', 4, { ...asking(2, 3), ...rules.apart('a') }),
    ...podsOf('zonal', 2, { ...asking(0.5, 1), ...rules.zone() }),
  ],
  { types: typesBy([2, 4, 10], [4, 16, 25], [8, 32, 50]) },
);
const { context, kind } = packing;
const names = ['large', 'small', 'apart', 'zonal'] as const;
type Counts = Readonly<Partial<Record<(typeof names)[number], number>>>;

const supplyOf = ({ context: one, kinds }: Packing, left?: Counts): Supply =>
  new Stock(
    one,
    Int32Array.from(
      kinds.map(({ index, count }) =>
        left === undefined
          ? count
          : (names
              .map((name) => (kind(name).index === index ? (left[name] ?? 0) : 0))
              .find(Boolean) ?? 0),
      ),
    ),
  );
const countsOf = ({ contents }: PackBin): Counts =>
  Object.fromEntries(
    names.flatMap((name) => {
      const count = contents.get(kind(name).index);
      return count === undefined ? [] : [[name, count]];
    }),
  );
/** The targets of a node that may become anything, cheapest first. */
const targets = context.targets(at(kind('small').openings, 0));

describe('a node is filled', () => {
  const everything: Counts = { large: 3, small: 9, apart: 4, zonal: 2 };
  test.each<[string, Counts, number, Counts, Counts]>([
    ['with the most valuable pods first', everything, 2, {}, { large: 2, apart: 1 }],
    [
      'with less valuable ones when the others are too large',
      { large: 3, small: 9 },
      0,
      {},
      { small: 2 },
    ],
    [
      'with no more of a kind than there are',
      { large: 1, small: 2 },
      2,
      {},
      { large: 1, small: 2 },
    ],
    ['with one of pods that keep apart', { apart: 4 }, 2, {}, { apart: 1 }],
    ['with none of them beside another', { apart: 4 }, 2, { apart: 1 }, { apart: 1 }],
    ['beside what it holds', everything, 1, { small: 2 }, { small: 2, apart: 1 }],
    ['with nothing when nothing is left', {}, 2, { small: 1 }, { small: 1 }],
    ['with nothing when it is full', everything, 0, { small: 2 }, { small: 2 }],
  ])('%s', (_sentence, left, target, before, after) => {
    const bin = binWith(packing, { small: 0, ...before });
    fill(context, bin, { target: at(targets, target), supply: supplyOf(packing, left) });
    expect(countsOf(bin)).toEqual(after);
  });

  test('for the price of the cheapest node that holds the pods, not that of its target', () => {
    const bin = binWith(packing, { small: 0 });
    const what = { target: at(targets, 2), supply: supplyOf(packing, { small: 2 }), swapsMax: 0 };
    expect([fillUp(context, bin, what), bin.price]).toEqual([true, 10]);
  });

  test('in vain when no node holds what it held before', () => {
    const bin = binWith(packing, { small: 9 });
    const what = { target: at(targets, 2), supply: supplyOf(packing, {}), swapsMax: 0 };
    expect([fillUp(context, bin, what), filled(context, bin, what)]).toEqual([false, undefined]);
  });

  test('evenly when its resources are to run out together', () => {
    const mixed = packingOf(
      [...podsOf('large', 8, asking(2, 1)), ...podsOf('small', 8, asking(0.5, 6))],
      { types: typesBy([8, 16, 40], [8, 32, 50], [8, 64, 60]) },
    );
    const state = at(mixed.kind('large').openings, 0);
    const worth = (evenly: boolean): number => {
      const supply = supplyOf(mixed);
      const bin = emptyBin(mixed.context, 0, state);
      fillUp(mixed.context, bin, {
        target: at(mixed.context.targets(state), 1),
        supply,
        swapsMax: 0,
        evenly,
      });
      return worthOf(mixed.context, bin);
    };
    expect(worth(true)).toBeGreaterThan(worth(false));
  });
});

describe('a state still buys', () => {
  const state = at(kind('small').openings, 0);
  const target = (cores: number, gib: number, price: number): Target => ({
    room: Float64Array.of(cores * 1000, gib * 2 ** 30, 110),
    price,
  });
  test.each<[string, Target, boolean]>([
    ['one of its own targets', at(targets, 1), true],
    ['what another node holds for as much', target(4, 12, 25), true],
    ['what a cheaper node holds', target(1, 1, 25), true],
    ['nothing that only a dearer node holds', target(4, 16, 24), false],
    ['nothing that no node holds', target(4, 64, 1_000), false],
  ])('%s', (_sentence, wanted, buys) => expect(stillBuys(state, wanted)).toBe(buys));
});

describe('any filling, of any pods,', () => {
  const fillings = fc.record({
    workloads: workloadsOf('none', 'apart', 'spread', 'port', 'zone'),
    target: fc.nat(40),
    swapsMax: fc.constantFrom(0, 6),
    evenly: fc.boolean(),
  });
  type Filling = typeof fillings extends fc.Arbitrary<infer T> ? T : never;
  const withAny = (
    seed: number,
    law: (
      made: { packing: Packing; from: PackBin; target: Target; supply: Supply },
      given: Filling,
    ) => void,
  ): void => {
    fc.assert(
      fc.property(fillings, (given) => {
        const any = packingOf(workloadPods(given.workloads));
        const from = binWith(any, { 'w0-': 1 });
        const able = any.context.targets(from.state).filter(({ price }) => price >= from.price);
        const target = at(able, given.target % able.length);
        const supply = new Stock(
          any.context,
          Int32Array.from(
            any.kinds.map(({ index, count }) => count - (from.contents.get(index) ?? 0)),
          ),
        );
        law({ packing: any, from, target, supply }, given);
      }),
      { seed, numRuns: 80 },
    );
  };

  test('costs no more than its target, takes no more than there is, and keeps what was there', () => {
    withAny(1, ({ packing: any, from, target, supply }, { swapsMax, evenly }) => {
      fc.pre(from.used.every((amount, r) => amount <= (target.room[r] as number)));
      const before = copyOf(from);
      const left = supply.left.slice();
      const bin = filled(any.context, from, { target, supply, swapsMax, evenly });
      expect(bin?.price).toBeLessThanOrEqual(target.price);
      for (const { index } of any.kinds) {
        const [was, is] = [from, bin].map((one) => one?.contents.get(index) ?? 0) as [
          number,
          number,
        ];
        expect(is).toBeGreaterThanOrEqual(was);
        expect(is - was).toBeLessThanOrEqual(left[index] as number);
      }
      expect(from).toEqual(before);
      expect(supply.left).toEqual(left);
    });
  });

  test('is worth no less for exchanges', () => {
    withAny(2, ({ packing: any, from, target, supply }, { evenly }) => {
      const worth = (swapsMax: number): number => {
        const bin = copyOf(from);
        fillUp(any.context, bin, { target, supply, swapsMax, evenly });
        return worthOf(any.context, bin);
      };
      expect(worth(6)).toBeGreaterThanOrEqual(worth(0));
    });
  });

  test('is worth what its pods are worth', () => {
    withAny(3, ({ packing: any, from, target, supply }, { evenly }) => {
      fillUp(any.context, from, { target, supply, swapsMax: 0, evenly });
      const worth = [...from.contents].reduce(
        (sum, [index, count]) => sum + (any.context.worth[index] as number) * count,
        0,
      );
      expect(Math.abs(worthOf(any.context, from) - worth)).toBeLessThanOrEqual(1e-9 * worth);
    });
  });
});
