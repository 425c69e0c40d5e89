import { virtualClock } from '@dovetail/sim-clock';
import { describe, expect, test } from 'vitest';

import { Pauses } from './pauses.js';

const times = { firstMs: 10_000, maxMs: 600_000 };

/** The lengths of pauses, in seconds, each begun after work that was in vain for so long. */
async function lengths(workSeconds: readonly number[], isCostly: boolean): Promise<number[]> {
  const clock = virtualClock(0);
  const pauses = new Pauses(clock, times);
  const found: number[] = [];
  for (const seconds of workSeconds) {
    const sinceMs = clock.nowMs();
    await clock.advance(seconds * 1_000);
    pauses.begin('key', { sinceMs, isCostly });
    let length = 0;
    for (; pauses.pauses('key'); length += 5) await clock.advance(5_000);
    found.push(length);
  }
  return found;
}

describe('a pause', () => {
  test('doubles with each failure in a row, up to the longest', async () => {
    const found = await lengths(
      Array.from({ length: 8 }, () => 1),
      false,
    );
    expect(found).toEqual([10, 20, 40, 80, 160, 320, 600, 600]);
  });

  test('doubles as well after work that takes as long as the longest pause', async () => {
    expect(await lengths([600, 600, 900, 900], false)).toEqual([10, 20, 40, 80]);
  });

  test('after costly work is as long as that at least, so that it costs a share that shrinks', async () => {
    expect(await lengths([600, 600, 600, 600, 600, 600], true)).toEqual([
      600, 1_200, 2_400, 4_800, 9_600, 9_600,
    ]);
  });

  test.each([
    ['that began days ago', -200_000_000, 3_600],
    ['that begins in the future', 5_000, 10],
  ])('after costly work %s has its limits', async (_when, sinceMs, seconds) => {
    const clock = virtualClock(0);
    const pauses = new Pauses(clock, times);
    pauses.begin('key', { sinceMs, isCostly: true });
    await clock.advance(seconds * 1_000 - 1);
    expect(pauses.pauses('key')).toBe(true);
    await clock.advance(1);
    expect(pauses.pauses('key')).toBe(false);
  });

  test('stands for work that is given up once more, because a write after it has failed', async () => {
    const clock = virtualClock(0);
    const pauses = new Pauses(clock, times);
    await clock.advance(5_000);
    const first = pauses.begin('key', { sinceMs: 0 });
    await clock.advance(1_000);
    expect(pauses.begin('key', { sinceMs: 0 })).toEqual(first);
  });

  test('of another process goes on, and the next is longer', async () => {
    const clock = virtualClock(0);
    const pauses = new Pauses(clock, times);
    expect(pauses.knows('key')).toBe(false);
    pauses.resume('key', { untilMs: 40_000, lengthMs: 80_000 });
    expect([pauses.knows('key'), pauses.untilMs('key')]).toEqual([true, 40_000]);
    await clock.advance(50_000);
    expect(pauses.begin('key').lengthMs).toBe(160_000);
  });

  test('begins anew after a key was quiet for the longest pause', async () => {
    const clock = virtualClock(0);
    const pauses = new Pauses(clock, times);
    for (const _times of [1, 2, 3]) {
      pauses.begin('key');
      await clock.advance(40_000);
    }
    await clock.advance(700_000);
    pauses.begin('key');
    await clock.advance(10_000);
    expect(pauses.pauses('key')).toBe(false);
  });
});
