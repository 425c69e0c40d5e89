import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { createManualClock } from './clock.js';
import { nameSuffix, randomFrom, uuidFrom } from './random.js';

describe('a manual clock', () => {
  test('runs timers in the order of their times, however they were set', () => {
    const delays = fc.array(fc.integer({ min: 0, max: 1000 }), { maxLength: 20 });
    fc.assert(
      fc.property(delays, (delaysMs) => {
        const clock = createManualClock(0);
        const ranAtMs: number[] = [];
        for (const delayMs of delaysMs) clock.after(delayMs, () => ranAtMs.push(clock.nowMs()));
        clock.advance(1000);
        expect(ranAtMs).toEqual(delaysMs.toSorted((a, b) => a - b));
      }),
    );
  });

  test('runs neither a cancelled timer nor one that is not due', () => {
    const clock = createManualClock(0);
    const ran: string[] = [];
    const cancel = clock.after(10, () => ran.push('cancelled'));
    clock.after(30, () => ran.push('later'));
    cancel();
    clock.advance(20);
    expect(ran).toEqual([]);
    clock.advance(10);
    expect(ran).toEqual(['later']);
  });

  test('runs a timer that another one sets, when it is due in the same time', () => {
    const clock = createManualClock(0);
    const ranAtMs: number[] = [];
    clock.after(10, () => void clock.after(5, () => ranAtMs.push(clock.nowMs())));
    clock.advance(20);
    expect(ranAtMs).toEqual([15]);
    expect(clock.nowMs()).toBe(20);
  });
});

describe('numbers from a seed', () => {
  test('the same seed gives the same uids and names', () => {
    const made = (seed: number): readonly string[] => {
      const random = randomFrom(seed);
      return [uuidFrom(random), nameSuffix(random)];
    };
    expect(made(7)).toEqual(made(7));
    expect(made(7)).not.toEqual(made(8));
  });

  test('a uid is a UUID of version 4, and a suffix has five letters that spell no word', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const random = randomFrom(seed);
        expect(uuidFrom(random)).toMatch(
          /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
        );
        expect(nameSuffix(random)).toMatch(/^[bcdfghjklmnpqrstvwxz2456789]{5}$/);
      }),
    );
  });
});
