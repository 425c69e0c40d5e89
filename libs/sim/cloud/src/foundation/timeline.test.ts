import { virtualClock } from '@dovetail/sim-clock';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { Timeline } from './timeline.js';

describe('a timeline', () => {
  test('performs actions by time and then by the order of planning, each at its own time', () => {
    const plans = fc.array(fc.integer({ min: 0, max: 100 }), { maxLength: 20 });
    fc.assert(
      fc.property(plans, (delaysMs) => {
        const timeline = new Timeline(virtualClock(0));
        const done: (readonly [number, number])[] = [];
        delaysMs.forEach((delayMs, index) =>
          timeline.after(delayMs, () => done.push([timeline.nowMs(), index])),
        );
        timeline.advance(100);
        const wanted = delaysMs.map((delayMs, index) => [delayMs, index] as const);
        expect(done).toEqual(wanted.toSorted((a, b) => a[0] - b[0] || a[1] - b[1]));
      }),
    );
  });

  test('performs what is due even if nobody looks, because the clock wakes it', async () => {
    const clock = virtualClock(0);
    const timeline = new Timeline(clock);
    const done: number[] = [];
    timeline.after(50, () => done.push(timeline.nowMs()));
    await clock.advance(49);
    expect(done).toEqual([]);
    await clock.advance(1);
    expect(done).toEqual([50]);
  });

  test('wakes a sleeper early when time is advanced, stopped or closed', async () => {
    const timeline = new Timeline(virtualClock(0));
    const stop = new AbortController();
    const sleeps = [timeline.sleep(10), timeline.sleep(1000, stop.signal), timeline.sleep(1000)];
    timeline.advance(10);
    await sleeps[0];
    stop.abort();
    await sleeps[1];
    timeline.close();
    await sleeps[2];
    await timeline.sleep(1000);
    expect(timeline.nowMs()).toBe(10);
  });
});
