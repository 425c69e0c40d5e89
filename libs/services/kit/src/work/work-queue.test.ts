import { type Clock, Stopper } from '@dovetail/core-ports';
import { virtualClock } from '@dovetail/sim-clock';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { type Again, WorkQueue } from './work-queue.js';

const retries = { retryMs: 100, retryMaxMs: 1_000 };

function stage(concurrency = 2) {
  const clock = virtualClock(0);
  const stop = new Stopper();
  const errors: string[] = [];
  const queue = new WorkQueue({
    clock,
    concurrency,
    ...retries,
    onError: (key, error, failures) => errors.push(`${key} ${String(error)} ${failures}`),
  });
  return { clock, stop, queue, errors };
}

describe('a work queue', () => {
  test('looks at a key once for many calls, again when a look asks for it, and later each time one fails', async () => {
    const { clock, stop, queue, errors } = stage();
    const looks: string[] = [];
    let failing = 2;
    const look = (key: string): Promise<Again> => {
      looks.push(`${key}@${clock.nowMs()}`);
      if (key === 'bad' && failing > 0) {
        failing -= 1;
        return Promise.reject(new Error('no'));
      }
      return Promise.resolve(key === 'again' && clock.nowMs() === 0 ? { afterMs: 50 } : undefined);
    };
    const running = queue.run(look, stop);
    for (const key of ['once', 'once', 'once', 'again', 'bad']) queue.add(key);
    await clock.advance(2_000);
    expect(looks).toEqual(['once@0', 'again@0', 'bad@0', 'again@50', 'bad@100', 'bad@300']);
    expect(errors).toEqual(['bad Error: no 1', 'bad Error: no 2']);
    stop.abort();
    await running;
  });

  test('delays a look that keeps failing up to the longest delay', async () => {
    const { clock, stop, queue, errors } = stage();
    const atMs: number[] = [];
    const running = queue.run(() => {
      atMs.push(clock.nowMs());
      return Promise.reject(new Error('no'));
    }, stop);
    queue.add('bad');
    await clock.advance(5_000);
    expect(atMs).toEqual([0, 100, 300, 700, 1_500, 2_500, 3_500, 4_500]);
    expect(errors).toHaveLength(atMs.length);
    stop.abort();
    await running;
  });

  test('looks once after a delay that was asked for several times', async () => {
    const { clock, stop, queue } = stage();
    const atMs: number[] = [];
    const running = queue.run(() => {
      atMs.push(clock.nowMs());
      return Promise.resolve(undefined);
    }, stop);
    queue.addAfter('a', 100);
    await clock.advance(50);
    queue.addAfter('a', 100);
    await clock.advance(500);
    expect(atMs).toEqual([100]);
    stop.abort();
    await running;
  });

  test('ends after the looks that are going on, and begins none', async () => {
    const { clock, stop, queue } = stage();
    let looks = 0;
    let hasEnded = false;
    const running = queue
      .run(async () => {
        looks += 1;
        await clock.sleep(100, new Stopper());
        return { afterMs: 0 };
      }, stop)
      .then(() => (hasEnded = true));
    queue.add('a');
    await clock.advance(10);
    stop.abort();
    queue.add('b');
    await clock.advance(10);
    expect([hasEnded, queue.size()]).toEqual([false, 1]);
    await clock.advance(100);
    await running;
    expect([looks, hasEnded]).toEqual([1, true]);
  });

  test('lets other work in between thousands of looks that wait for nothing', async () => {
    const stop = new Stopper();
    let [nowMs, pauses, longestMs, sinceMs] = [0, 0, 0, 0];
    const clock: Clock = {
      nowMs: () => nowMs,
      sleep: (ms) => {
        pauses += 1;
        longestMs = Math.max(longestMs, nowMs - sinceMs);
        sinceMs = nowMs += ms;
        return Promise.resolve();
      },
    };
    const queue = new WorkQueue({ ...retries, clock, concurrency: 10, onError: () => undefined });
    let looks = 0;
    for (let key = 0; key < 5_000; key += 1) queue.add(String(key));
    await queue.run(() => {
      nowMs += 1;
      looks += 1;
      if (looks === 5_000) stop.abort();
      return Promise.resolve(undefined);
    }, stop);
    expect(looks).toBe(5_000);
    expect(longestMs).toBeLessThan(100);
    expect(pauses).toBeGreaterThanOrEqual(50);
  });

  const additions = fc.array(
    fc.record({
      afterMs: fc.integer({ min: 0, max: 30 }),
      key: fc.constantFrom('a', 'b', 'c', 'd'),
    }),
    { minLength: 1, maxLength: 30 },
  );

  test('never looks at a key twice at once or at too many keys, and looks after the last addition of each', async () => {
    await fc.assert(
      fc.asyncProperty(additions, fc.integer({ min: 1, max: 3 }), async (added, concurrency) => {
        const { clock, stop, queue } = stage(concurrency);
        const busy: string[] = [];
        const begunMs = new Map<string, number>();
        const faults: string[] = [];
        const running = queue.run(async (key) => {
          if (busy.includes(key) || busy.length >= concurrency) faults.push([...busy, key].join());
          busy.push(key);
          begunMs.set(key, clock.nowMs());
          await clock.sleep(7, new Stopper());
          busy.splice(busy.indexOf(key), 1);
          return undefined;
        }, stop);
        const addedMs = new Map<string, number>();
        for (const { afterMs, key } of added) {
          await clock.advance(afterMs);
          queue.add(key);
          addedMs.set(key, clock.nowMs());
        }
        await clock.advance(1_000);
        expect(faults).toEqual([]);
        for (const [key, atMs] of addedMs) expect(begunMs.get(key)).toBeGreaterThanOrEqual(atMs);
        stop.abort();
        await running;
      }),
      { numRuns: 25 },
    );
  });
});
