import { describe, expect, test } from 'vitest';

import { RandomNumbers } from './random-numbers.js';

const drawn = (seed: number, below: number, times: number): readonly number[] => {
  const random = new RandomNumbers(seed);
  return Array.from({ length: times }, () => random.below(below));
};

describe('the random numbers of the search', () => {
  test('are the same for the same seed', () => {
    expect(drawn(7, 1000, 50)).toEqual(drawn(7, 1000, 50));
  });

  test('differ between neighbouring seeds', () => {
    expect(drawn(7, 1000, 50)).not.toEqual(drawn(8, 1000, 50));
  });

  test.each([0, 1, -1, 0x7fffffff, 2 ** 40])('stay below their limit with seed %d', (seed) => {
    for (const below of [1, 2, 8, 1000])
      for (const choice of drawn(seed, below, 200)) {
        expect(Number.isInteger(choice)).toBe(true);
        expect(choice).toBeGreaterThanOrEqual(0);
        expect(choice).toBeLessThan(below);
      }
  });

  test('reach every number below eight', () => {
    expect(new Set(drawn(1, 8, 400)).size).toBe(8);
  });

  test('shuffle a list into each of its orders, and leave the list as it was', () => {
    const random = new RandomNumbers(1);
    const list = ['a', 'b', 'c'];
    const orders = Array.from({ length: 200 }, () => random.shuffled(list).join(''));
    expect([...new Set(orders)].sort()).toEqual(['abc', 'acb', 'bac', 'bca', 'cab', 'cba']);
    expect(list).toEqual(['a', 'b', 'c']);
  });
});
