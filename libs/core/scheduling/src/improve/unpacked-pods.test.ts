import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { PackBin } from '../pack/packing.js';
import { podsOf } from '../testing/objects.js';
import { asking, binWith, packingOf, typesBy } from '../testing/packing.js';
import { UnpackedPods } from './unpacked-pods.js';

const packing = packingOf(
  [
    ...podsOf('large', 20, asking(3, 8)),
    ...podsOf('small', 20, asking(1, 2)),
    ...podsOf('tiny', 20, asking(0.5, 1)),
  ],
  { types: typesBy([4, 16, 20], [64, 256, 320]) },
);
const { context, kinds, kind } = packing;
const keeping = (bin: PackBin, prefix: string, count: number): PackBin => ({
  ...bin,
  base: new Map([[kind(prefix).index, count]]),
});
const leftOf = (unpacked: UnpackedPods): Readonly<Record<string, number>> =>
  Object.fromEntries(
    ['large', 'small', 'tiny'].map((name) => [name, unpacked.left[kind(name).index] as number]),
  );

describe('pods of dissolved nodes', () => {
  test.each<[string, readonly PackBin[], Readonly<Record<string, number>>]>([
    ['are none at first', [], { large: 0, small: 0, tiny: 0 }],
    [
      'are all that a node holds',
      [binWith(packing, { large: 1, tiny: 2 })],
      { large: 1, small: 0, tiny: 2 },
    ],
    [
      'are those of all nodes together',
      [binWith(packing, { small: 1 }), binWith(packing, { large: 2, small: 3 })],
      { large: 2, small: 4, tiny: 0 },
    ],
    [
      'are not those that the node must keep',
      [keeping(binWith(packing, { small: 3, tiny: 1 }), 'small', 2)],
      { large: 0, small: 1, tiny: 1 },
    ],
    [
      'are not of a kind of which the node must keep all',
      [keeping(binWith(packing, { small: 3, tiny: 1 }), 'small', 3)],
      { large: 0, small: 0, tiny: 1 },
    ],
  ])('%s', (_sentence, bins, left) => {
    const unpacked = new UnpackedPods(kinds.length);
    unpacked.add(context, bins);
    expect(leftOf(unpacked)).toEqual(left);
    expect(unpacked.sizes).toHaveLength(Object.values(left).filter((count) => count > 0).length);
  });

  test('are gone when cleared', () => {
    const unpacked = new UnpackedPods(kinds.length);
    unpacked.add(context, [binWith(packing, { large: 1, tiny: 2 })]);
    unpacked.clear();
    expect([leftOf(unpacked), unpacked.sizes, unpacked.count]).toEqual([
      { large: 0, small: 0, tiny: 0 },
      [],
      0,
    ]);
  });

  test('that a node takes do not include those that it held all along', () => {
    const unpacked = new UnpackedPods(kinds.length);
    unpacked.add(context, [binWith(packing, { small: 3 })]);
    unpacked.take(keeping(binWith(packing, { small: 4 }), 'small', 2));
    expect(leftOf(unpacked)).toEqual({ large: 0, small: 1, tiny: 0 });
  });
});

test('whatever is added and taken, count and sizes are those of what is left, most valuable first', () => {
  const contents = fc.record({ large: fc.nat(3), small: fc.nat(3), tiny: fc.nat(3) });
  fc.assert(
    fc.property(fc.array(contents, { minLength: 1, maxLength: 5 }), fc.nat(4), (all, taken) => {
      const bins = all.map((one) => binWith(packing, one));
      const unpacked = new UnpackedPods(kinds.length);
      unpacked.add(context, bins);
      for (const bin of bins.slice(0, taken)) unpacked.take(bin);
      const left = kinds.map(({ index }) =>
        bins.slice(taken).reduce((sum, bin) => sum + (bin.contents.get(index) ?? 0), 0),
      );
      expect([...unpacked.left]).toEqual(left);
      expect(unpacked.count).toBe(left.reduce((sum, count) => sum + count, 0));
      expect(unpacked.sizes.map((size) => size.kinds[0])).toEqual(
        kinds
          .filter(({ index }) => (left[index] as number) > 0)
          .sort((a, b) => (context.worth[b.index] as number) - (context.worth[a.index] as number))
          .map(({ index }) => index),
      );
    }),
    { seed: 1 },
  );
});
