import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { timesFitting } from './fitting.js';

fc.configureGlobal({ seed: 1 });

const times = (
  room: readonly number[],
  used: readonly number[],
  requests: readonly number[],
): number =>
  timesFitting(Float64Array.from(room), Float64Array.from(used), Float64Array.from(requests));

type Row = readonly number[];

describe('how many times requests fit', () => {
  test.each<[string, Row, Row, Row, number]>([
    ['as often as the room holds them', [10, 10], [0, 0], [3, 2], 3],
    ['as often as the scarcest amount allows', [10, 3], [0, 0], [3, 2], 1],
    ['as often as what is used leaves', [10, 10], [4, 0], [3, 2], 2],
    ['exactly, to the last unit', [9, 9], [0, 0], [3, 3], 3],
    ['never, one unit short', [2, 9], [0, 0], [3, 3], 0],
    ['never in a room that is overfull', [1, 9], [3, 0], [1, 1], 0],
    ['never where what is used exceeds an amount that is not wanted', [9, 1], [0, 2], [1, 0], 0],
    [
      'where nothing is used of an amount that is below zero and not wanted',
      [9, -1],
      [0, 0],
      [1, 0],
      9,
    ],
    ['without end, if they want nothing', [9, 9], [1, 1], [0, 0], Infinity],
  ])('%s', (_what, room, used, requests, expected) => {
    expect(times(room, used, requests)).toBe(expected);
  });

  test('is the largest number whose sum with what is used stays within the room', () => {
    const row = (max: number) =>
      fc.array(fc.integer({ min: 0, max }), { minLength: 3, maxLength: 3 });
    fc.assert(
      fc.property(row(40), row(20), row(8), (room, used, requests) => {
        fc.pre(requests.some((amount) => amount > 0));
        const fits = (count: number): boolean =>
          room.every(
            (amount, index) => (used[index] ?? 0) + count * (requests[index] ?? 0) <= amount,
          );
        let most = 0;
        while (fits(most + 1)) most += 1;
        expect(times(room, used, requests)).toBe(most);
      }),
    );
  });
});
