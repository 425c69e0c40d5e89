import { expect, test } from 'vitest';

import { BusTime } from './bus-time.js';

const minuteMs = 60_000;

/** How old messages are said to be that take so long, if the bus's clock is ahead by so much. */
const agesOf = (tookMs: readonly number[], aheadMs: number): readonly number[] => {
  const time = new BusTime();
  return tookMs.map((took, index) => {
    const nowMs = index * 10_000 + took;
    return nowMs - time.storedMs(index * 10_000 + aheadMs, nowMs);
  });
};

test.each([0, minuteMs, -minuteMs, 10 * minuteMs])(
  'a message is as old as its way was longer than the fastest, with a bus %d ms ahead',
  (aheadMs) =>
    expect(agesOf([5, 5, 65_005, 1, 60_001], aheadMs)).toEqual([0, 0, 65_000, 0, 60_000]),
);

test('a clock that was set back makes messages old for some arrivals, and not for ever', () => {
  const time = new BusTime();
  const ages = Array.from({ length: 80 }, (_, index) => {
    const busMs = index < 10 ? index : index - 5 * minuteMs;
    return index - time.storedMs(busMs, index);
  });
  expect([ages[9], ages[10], ages.at(-1)]).toEqual([0, 5 * minuteMs, 0]);
});
