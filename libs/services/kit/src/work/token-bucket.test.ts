import { Stopper } from '@dovetail/core-ports';
import { virtualClock } from '@dovetail/sim-clock';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { TokenBucket } from './token-bucket.js';

const options = { ratePerSecond: 10, burst: 2 };

describe('a bucket of tokens', () => {
  test('lets a burst through, then paces; throttling slows it down', async () => {
    const clock = virtualClock(0);
    const bucket = new TokenBucket(clock, options);
    const stop = new Stopper();
    const taken: number[] = [];
    const take = (): void => void bucket.take(stop).then(() => taken.push(clock.nowMs()));
    for (let count = 0; count < 4; count += 1) take();
    await clock.advance(1_000);
    expect(taken).toEqual([0, 0, 100, 200]);
    bucket.throttled();
    take();
    await clock.advance(1_000);
    expect(taken.at(-1)).toBe(1_200);
  });

  test('gives one at once or none', async () => {
    const clock = virtualClock(0);
    const bucket = new TokenBucket(clock, options);
    expect([bucket.tryTake(), bucket.tryTake(), bucket.tryTake()]).toEqual([true, true, false]);
    await clock.advance(100);
    expect([bucket.tryTake(), bucket.tryTake()]).toEqual([true, false]);
  });

  test('says that it was stopped', async () => {
    const clock = virtualClock(0);
    const bucket = new TokenBucket(clock, { ratePerSecond: 1, burst: 1 });
    const stop = new Stopper();
    expect(await bucket.take(stop)).toBe(true);
    const waiting = bucket.take(stop);
    stop.abort();
    expect(await waiting).toBe(false);
  });

  test('never gives more than its burst and what its rate has added since', async () => {
    const step = fc.record({
      afterMs: fc.integer({ min: 0, max: 500 }),
      act: fc.constantFrom('throttled' as const, 'succeeded' as const, 'none' as const),
      takes: fc.integer({ min: 0, max: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
        const clock = virtualClock(0);
        const bucket = new TokenBucket(clock, options);
        let given = 0;
        for (const { afterMs, act, takes } of steps) {
          await clock.advance(afterMs);
          if (act !== 'none') bucket[act]();
          for (let count = 0; count < takes; count += 1) if (bucket.tryTake()) given += 1;
          const most = options.burst + (clock.nowMs() / 1_000) * options.ratePerSecond;
          expect(given).toBeLessThanOrEqual(most);
        }
      }),
      { numRuns: 25 },
    );
  });

  test.each([
    ['a rate of nothing', { ratePerSecond: 0, burst: 1 }],
    ['a burst of less than one', { ratePerSecond: 1, burst: 0 }],
  ])('refuses %s', (_what, wrong) => {
    expect(() => new TokenBucket(virtualClock(0), wrong)).toThrow('bucket');
  });
});
