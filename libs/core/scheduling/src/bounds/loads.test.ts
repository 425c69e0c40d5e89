import { at, float64At } from '@dovetail/core-invariant';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { fullestLoads, type Item, type Load, type Purchase } from './loads.js';
import type { MayShare } from './sharing.js';

const itemOf = (requests: readonly number[], count: number): Item => ({
  requests: Float64Array.from(requests),
  count,
});
const nodeOf = (
  room: readonly number[],
  priceMicrosPerHour: number,
  admits: readonly boolean[] = [true, true],
): Purchase => ({ room: Float64Array.from(room), priceMicrosPerHour, admits });
const freely: MayShare = () => true;
const apart: MayShare = (counts) => counts.every((count) => count === 0);
const loadsOf = (loads: readonly Load[] | undefined): unknown =>
  loads?.map(({ counts, priceMicrosPerHour }) => [priceMicrosPerHour, ...counts]);

describe('the fullest loads', () => {
  const two = [itemOf([1], 4), itemOf([2], 2)];
  test.each<[string, readonly Purchase[], readonly Item[], MayShare, readonly unknown[]]>([
    ['are none without nodes', [], two, freely, []],
    ['are none of a node that is too small', [nodeOf([0.5], 1)], two, freely, []],
    [
      'fill a node in every way',
      [nodeOf([3], 9)],
      two,
      freely,
      [
        [9, 3, 0],
        [9, 1, 1],
      ],
    ],
    ['hold no more pods than there are', [nodeOf([9], 9)], [itemOf([1], 4)], freely, [[9, 4]]],
    ['keep to the scarcest resource', [nodeOf([9, 2], 9)], [itemOf([1, 1], 4)], freely, [[9, 2]]],
    ['hold only what the node admits', [nodeOf([3], 9, [false, true])], two, freely, [[9, 0, 1]]],
    [
      'keep to what may share',
      [nodeOf([3], 9)],
      two,
      apart,
      [
        [9, 1, 0],
        [9, 0, 1],
      ],
    ],
    [
      'are priced by the cheapest node that holds them',
      [nodeOf([2], 7), nodeOf([2], 5)],
      [itemOf([1], 9)],
      freely,
      [[5, 2]],
    ],
    [
      'name a dearer node only for what it alone holds',
      [nodeOf([4], 8), nodeOf([1], 3)],
      [itemOf([1], 9)],
      freely,
      [
        [3, 1],
        [8, 4],
      ],
    ],
    [
      'end with the node that holds everything',
      [nodeOf([1], 1), nodeOf([4], 5), nodeOf([9], 6)],
      [itemOf([1], 4)],
      freely,
      [
        [1, 1],
        [5, 4],
      ],
    ],
  ])('%s', (_what, nodes, items, mayShare, expected) =>
    expect(loadsOf(fullestLoads(nodes, items, mayShare))).toEqual(expected),
  );

  test('are not known where there are too many', () => {
    const many = Array.from({ length: 12 }, () => itemOf([1], 12));
    const admits = many.map(() => true);
    expect(fullestLoads([nodeOf([12], 1, admits)], many, freely)).toBeUndefined();
  });
});

/** Every part of the items, by counts. */
const partsOf = (items: readonly Item[]): readonly (readonly number[])[] =>
  items.reduce<readonly (readonly number[])[]>(
    (parts, { count }) =>
      parts.flatMap((part) => Array.from({ length: count + 1 }, (_, n) => [...part, n])),
    [[]],
  );
const holds = (node: Purchase, items: readonly Item[], counts: readonly number[]): boolean =>
  counts.every((count, index) => count === 0 || at(node.admits, index)) &&
  node.room.every(
    (amount, r) =>
      counts.reduce((sum, n, index) => sum + n * float64At(at(items, index).requests, r), 0) <=
      amount,
  );

test('some load covers whatever a node may hold, at no higher price, and some node holds each load', () => {
  const amount = fc.integer({ min: 0, max: 6 });
  const items = fc.array(
    fc.record({ cpu: fc.integer({ min: 1, max: 3 }), memory: amount, count: fc.nat({ max: 3 }) }),
    { minLength: 2, maxLength: 3 },
  );
  const nodes = fc.array(
    fc.record({
      cpu: amount,
      memory: amount,
      price: fc.nat({ max: 4 }),
      admits: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
    }),
    { maxLength: 4 },
  );
  fc.assert(
    fc.property(items, nodes, (someItems, someNodes) => {
      const asked = someItems.map(({ cpu, memory, count }) => itemOf([cpu, memory], count));
      const bought = someNodes.map(({ cpu, memory, price, admits }) =>
        nodeOf([cpu, memory], price, admits.slice(0, asked.length)),
      );
      const loads = fullestLoads(bought, asked, freely) ?? [];
      for (const node of bought)
        for (const part of partsOf(asked))
          if (part.some((count) => count > 0) && holds(node, asked, part))
            expect(
              loads.some(
                ({ counts, priceMicrosPerHour }) =>
                  priceMicrosPerHour <= node.priceMicrosPerHour &&
                  part.every((count, index) => count <= at(counts, index)),
              ),
            ).toBe(true);
      for (const { counts, priceMicrosPerHour } of loads)
        expect(
          bought.some(
            (node) => node.priceMicrosPerHour === priceMicrosPerHour && holds(node, asked, counts),
          ),
        ).toBe(true);
    }),
    { seed: 1 },
  );
});
