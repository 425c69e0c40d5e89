import { expect, test } from 'vitest';

import { BusTime } from './bus-time.js';

const minuteMs = 60_000;

/** A bus whose clock is ahead of the one here, and messages that take 5 ms. */
function stage(aheadMs: number) {
  let nowMs = 1_000_000_000;
  const time = new BusTime(() => nowMs);
  return {
    time,
    pass: (ms: number) => (nowMs += ms),
    /** The age here of a message that was stored so long ago. */
    ageOf: (ms: number) => nowMs - time.here(nowMs + aheadMs - ms),
    hear: (waitedMs = 5) => time.heard(nowMs + aheadMs - waitedMs),
    step: (ms: number) => {
      nowMs += ms;
      aheadMs -= ms;
    },
  };
}

test.each([0, 5 * minuteMs, -5 * minuteMs])(
  'a message has its age, though the clock of the bus is %d ms ahead',
  (aheadMs) => {
    const { hear, ageOf, pass } = stage(aheadMs);
    hear(90_000);
    hear();
    expect(ageOf(90_000)).toBe(89_995);
    pass(10 * minuteMs);
    expect(ageOf(90_000)).toBe(89_995);
    expect(ageOf(0)).toBe(0);
  },
);

test('a message that is the first to come has just been stored, as far as is known', () => {
  const { hear, ageOf } = stage(minuteMs);
  expect(ageOf(90_000)).toBe(0);
  hear(90_000);
  expect(ageOf(90_000)).toBe(0);
});

test('messages that waited long do not make others younger while a fresh one is known', () => {
  const { hear, ageOf, pass } = stage(minuteMs);
  hear();
  pass(minuteMs);
  hear(80_000);
  expect(ageOf(90_000)).toBe(89_995);
});

test('a clock that is set is followed after two minutes with messages', () => {
  const { hear, ageOf, pass, step } = stage(0);
  hear();
  step(10 * minuteMs);
  hear();
  expect(ageOf(5)).toBeGreaterThan(minuteMs);
  for (let minutes = 0; minutes < 2; minutes += 1) {
    pass(minuteMs);
    hear();
  }
  expect(ageOf(5)).toBe(0);
});
