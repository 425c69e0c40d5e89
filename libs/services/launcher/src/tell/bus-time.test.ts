import { expect, test } from 'vitest';

import { BusTime } from './bus-time.js';

const minuteMs = 60_000;
const hereMs = 1_000_000_000;

/** A bus whose clock is ahead of the one here, and the ages of its messages here. */
function stage(aheadMs: number) {
  let nowMs = hereMs;
  const time = new BusTime(() => nowMs);
  const busMs = hereMs + aheadMs;
  return {
    stored: (ms: number) => time.stored(busMs + ms),
    heard: (ms: number) => time.heard(busMs + ms),
    ageOf: (ms: number) => nowMs - time.here(busMs + ms),
    set: (ms: number) => (nowMs += ms),
  };
}

test.each([0, 5 * minuteMs, -5 * minuteMs])(
  'a message has its age, though the clock of the bus is %d ms ahead',
  (aheadMs) => {
    const { stored, ageOf } = stage(aheadMs);
    stored(0);
    expect([ageOf(-90_000), ageOf(0), ageOf(5)]).toEqual([90_000, 0, 0]);
  },
);

test('a message that is the first to come has just been stored, as far as is known', () => {
  const { heard, ageOf } = stage(minuteMs);
  expect(ageOf(-90_000)).toBe(0);
  heard(-90_000);
  expect(ageOf(-90_000)).toBe(0);
});

test('messages that come late do not make others younger', () => {
  const { stored, heard, ageOf } = stage(minuteMs);
  stored(0);
  heard(-80_000);
  expect(ageOf(-90_000)).toBe(90_000);
});

test('a clock here that is set makes no message older', () => {
  const { stored, ageOf, set } = stage(0);
  stored(0);
  set(10 * minuteMs);
  expect([ageOf(-5), ageOf(5)]).toEqual([5, 0]);
});

test('a clock of the bus that is set back is followed with the next record', () => {
  const { stored, ageOf } = stage(0);
  stored(0);
  stored(-5 * minuteMs);
  expect(ageOf(-5 * minuteMs + 5)).toBe(0);
});
