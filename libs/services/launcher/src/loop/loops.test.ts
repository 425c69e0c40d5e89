import { describe, expect, test } from '@jest/globals';
import { virtualClock } from '@dovetail/sim-clock';
import { inParallel } from './in-parallel.js';
import { KeyedQueue } from './keyed-queue.js';
import { Stopper } from '@dovetail/core-ports';
import { TokenBucket } from './token-bucket.js';

describe('a queue of keys', () => {
  test('looks at a key once for many calls, again when it asks, and later each time it fails', async () => {
    const clock = virtualClock(0);
    const stop = new Stopper();
    const queue = new KeyedQueue(clock);
    const looks: string[] = [];
    let failing = 2;
    const running = queue.run({ concurrency: 2, retryMs: 100, retryMaxMs: 1_000 }, async (key) => {
      looks.push(`${key}@${clock.nowMs()}`);
      await Promise.resolve();
      if (key === 'bad' && failing > 0) { failing -= 1; throw new Error('no'); }
      return key === 'again' && clock.nowMs() === 0 ? { afterMs: 50 } : undefined;
    }, () => undefined, stop);
    for (const key of ['once', 'once', 'once', 'again', 'bad']) queue.add(key);
    await clock.advance(2_000);
    expect(looks).toEqual(['once@0', 'again@0', 'bad@0', 'again@50', 'bad@100', 'bad@300']);
    stop.abort();
    await running;
  });

  test('never looks at one key twice at the same time', async () => {
    const clock = virtualClock(0);
    const stop = new Stopper();
    const queue = new KeyedQueue(clock);
    let inside = 0;
    let most = 0;
    const running = queue.run({ concurrency: 8, retryMs: 1, retryMaxMs: 1 }, async () => {
      inside += 1;
      most = Math.max(most, inside);
      await clock.sleep(10, stop);
      inside -= 1;
      return undefined;
    }, () => undefined, stop);
    queue.add('a');
    await clock.advance(5);
    queue.add('a');
    await clock.advance(50);
    expect(most).toBe(1);
    stop.abort();
    await running;
  });
});

describe('a bucket of tokens', () => {
  test('lets a burst through, then paces; throttling slows it down, success speeds it up again', async () => {
    const clock = virtualClock(0);
    const bucket = new TokenBucket(clock, { ratePerSecond: 10, burst: 2 });
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

  test('who does not want to wait gets one or none', async () => {
    const clock = virtualClock(0);
    const bucket = new TokenBucket(clock, { ratePerSecond: 10, burst: 2 });
    expect([bucket.tryTake(), bucket.tryTake(), bucket.tryTake()]).toEqual([true, true, false]);
    await clock.advance(100);
    expect([bucket.tryTake(), bucket.tryTake()]).toEqual([true, false]);
  });
});

test('parallel work keeps the order of its results and ends before it rejects', async () => {
  expect(await inParallel([3, 1, 2], 2, async (item) => { await Promise.resolve(); return item * 2; })).toEqual([6, 2, 4]);
  const done: number[] = [];
  await expect(inParallel([1, 2, 3], 1, async (item) => { await Promise.resolve(); if (item === 1) throw new Error('first'); done.push(item); })).rejects.toThrow('first');
  expect(done).toEqual([2, 3]);
});

test('a stop that follows others stops with the first of them, and leaves them alone', () => {
  const [one, two] = [new Stopper(), new Stopper()];
  const both = new Stopper(one, two);
  two.abort();
  expect([one.aborted, both.aborted]).toEqual([false, true]);
});
