import { describe, expect, test } from 'vitest';

import { inParallel } from './in-parallel.js';

describe('work in parallel', () => {
  test.each([1, 2, 3, 10])('keeps the order of its results with %i lanes', async (limit) => {
    const double = async (item: number): Promise<number> => {
      await Promise.resolve();
      return item * 2;
    };
    expect(await inParallel([3, 1, 2], limit, double)).toEqual([6, 2, 4]);
  });

  test('does nothing for no items', async () => {
    expect(await inParallel([], 4, () => Promise.reject(new Error('called')))).toEqual([]);
  });

  test('never does more at once than its limit', async () => {
    let inside = 0;
    let most = 0;
    await inParallel([1, 2, 3, 4, 5], 2, async () => {
      most = Math.max(most, (inside += 1));
      await new Promise((resolve) => setImmediate(resolve));
      inside -= 1;
    });
    expect(most).toBe(2);
  });

  test('does all of it before it rejects with the first failure', async () => {
    const done: number[] = [];
    const work = inParallel([1, 2, 3], 1, async (item) => {
      await Promise.resolve();
      if (item === 1) throw new Error('first');
      if (item === 2) throw new Error('second');
      done.push(item);
    });
    await expect(work).rejects.toThrow('first');
    expect(done).toEqual([3]);
  });
});
