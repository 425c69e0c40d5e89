import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { podsOf } from '../testing/objects.js';
import { asking, packingOf, rules, typesBy } from '../testing/packing.js';
import { Stock } from './stock.js';

const { context, kinds, kind } = packingOf(
  [
    ...podsOf('large', 2, asking(3, 8)),
    ...podsOf('small', 4, asking(1, 2)),
    ...podsOf('zonal', 3, { ...asking(1, 2), ...rules.zone() }),
    ...podsOf('tiny', 5, asking(0.5, 1)),
  ],
  { types: typesBy([4, 16, 20], [16, 64, 80]) },
);
const stockOf = (counts = kinds.map(({ count }) => count)): Stock =>
  new Stock(context, Int32Array.from(counts));
const sizesOf = (stock: Stock): readonly (readonly number[])[] =>
  stock.sizes.map((size) => [...size.kinds].sort((a, b) => a - b));
const [large, small, zonal, tiny] = ['large', 'small', 'zonal', 'tiny'].map(
  (name) => kind(name).index,
) as [number, number, number, number];

describe('a stock of pods', () => {
  test('has one size for kinds with equal requests, the most valuable size first', () => {
    expect(sizesOf(stockOf())).toEqual([[large], [small, zonal].sort(), [tiny]]);
  });

  test('has no size for kinds of which there are no pods', () => {
    const stock = stockOf(kinds.map(({ index, count }) => (index === large ? 0 : count)));
    expect(sizesOf(stock)).toEqual([[small, zonal].sort(), [tiny]]);
    expect(stock.first()?.requests).toEqual(kind('small').requests);
  });

  test.each<[string, readonly (readonly [number, number])[], readonly (readonly number[])[]]>([
    [
      'keeps a size while pods of it are left',
      [[large, 1]],
      [[large], [small, zonal].sort(), [tiny]],
    ],
    ['drops a size with its last pod', [[large, 2]], [[small, zonal].sort(), [tiny]]],
    ['keeps a size that another kind still has', [[small, 4]], [[large], [zonal], [tiny]]],
    [
      'drops a size with the last of its kinds',
      [
        [zonal, 3],
        [small, 4],
      ],
      [[large], [tiny]],
    ],
    ['is as before when nothing is taken', [[large, 0]], [[large], [small, zonal].sort(), [tiny]]],
  ])('%s', (_sentence, takes, sizes) => {
    const stock = stockOf();
    for (const [index, count] of takes) stock.take(index, count);
    expect(sizesOf(stock)).toEqual(sizes);
  });

  test('that is empty has no first kind', () => {
    expect(stockOf(kinds.map(() => 0)).first()).toBeUndefined();
  });
});

test('whatever is taken, worth and sizes are those of the pods that are left', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(kinds.length - 1), fc.nat(5))), (takes) => {
      const stock = stockOf();
      const left = kinds.map(({ count }) => count);
      for (const [index, wanted] of takes) {
        const count = Math.min(wanted, left[index] as number);
        stock.take(index, count);
        left[index] = (left[index] as number) - count;
      }
      expect([...stock.left]).toEqual(left);
      expect(stock.sizes.flatMap((size) => size.kinds).sort((a, b) => a - b)).toEqual(
        kinds.flatMap(({ index }) => (left[index] === 0 ? [] : [index])),
      );
      const worth = left.reduce(
        (sum, count, index) => sum + count * (context.worth[index] as number),
        0,
      );
      expect(stock.worth).toBeCloseTo(worth, 6);
      const most = Math.max(
        ...left.map((count, index) => (count > 0 ? (context.worth[index] as number) : 0)),
      );
      expect(context.worth[stock.first()?.index ?? -1] ?? 0).toBe(most);
    }),
    { seed: 1 },
  );
});
