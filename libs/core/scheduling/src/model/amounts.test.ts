import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { ByAmounts, placeOf } from './amounts.js';

fc.configureGlobal({ seed: 1 });

const rowOf = (...amounts: readonly number[]): Float64Array => Float64Array.from(amounts);

describe('values by rows of numbers', () => {
  test('the same row leads to the same place, any other to another', () => {
    const tree = new ByAmounts<string>();
    const rows = [
      [1, 2, 3],
      [1, 2, 4],
      [1, 0, 3],
      [5, 2, 3],
      [1.5, 2, 3],
      [2 ** 40, 2, 3],
      [0, 0, 0],
    ];
    for (const row of rows) placeOf(tree, rowOf(...row)).value = row.join();
    expect(rows.map((row) => placeOf(tree, rowOf(...row)).value)).toEqual(
      rows.map((row) => row.join()),
    );
  });

  test.each<[string, readonly number[]]>([
    ['one that ends elsewhere', [1, 2, 5]],
    ['one that begins with it', [1, 2, 3, 4]],
    ['the beginning of it', [1, 2]],
    ['the empty one', []],
  ])('a row says nothing about %s', (_what, other) => {
    const tree = new ByAmounts<string>();
    placeOf(tree, rowOf(1, 2, 3)).value = 'set';
    expect(placeOf(tree, rowOf(...other)).value).toBeUndefined();
  });

  test('they agree with a map of the rows as text', () =>
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 4 }), { maxLength: 40 }),
        (rows) => {
          const tree = new ByAmounts<number>();
          const known = new Map<string, number>();
          rows.forEach((row, index) => {
            placeOf(tree, rowOf(...row)).value = index;
            known.set(row.join(), index);
          });
          for (const row of rows)
            expect(placeOf(tree, rowOf(...row)).value).toBe(known.get(row.join()));
        },
      ),
    ));
});
