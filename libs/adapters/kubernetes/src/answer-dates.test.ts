import { describe, expect, test } from 'vitest';

import { AnswerDates } from './answer-dates.js';

/** Own clocks that a test moves. The server's clock says noon when ours does. */
function clocks() {
  const noonMs = Date.UTC(2026, 0, 1, 12);
  const own = { atMs: 0, offMs: 0 };
  const dates = new AnswerDates({
    wallMs: () => noonMs + own.atMs + own.offMs,
    monotonicMs: () => 5_000_000 + own.atMs,
  });
  const dateNow = (): string => new Date(noonMs + own.atMs).toUTCString();
  return { own, dates, dateNow };
}

describe('the clock of the API server', () => {
  test('is not known before its first answer, nor by one without a Date', () => {
    const { dates } = clocks();
    expect(dates.aheadMs()).toBeUndefined();
    const answered = dates.begin();
    answered(undefined);
    answered('soon');
    expect(dates.aheadMs()).toBeUndefined();
  });

  test.each([
    ['equal', 0, 0],
    ['less than a second ahead, which a Date cannot show', 900, 0],
    ['a little behind, within the time of the request', -100, 0],
    ['90 seconds ahead', 90_000, 89_000],
    ['90 seconds behind', -90_000, -89_900],
  ])('shows whether ours is %s', (_sentence, offMs, aheadMs) => {
    const { own, dates, dateNow } = clocks();
    own.offMs = offMs;
    const answered = dates.begin();
    own.atMs += 100;
    answered(dateNow());
    expect(dates.aheadMs()).toBe(aheadMs);
  });

  test('shows a step of ours without another answer', () => {
    const { own, dates, dateNow } = clocks();
    dates.begin()(dateNow());
    own.atMs += 600_000;
    expect(dates.aheadMs()).toBe(0);
    own.offMs = 3 * 3_600_000;
    expect(dates.aheadMs()).toBe(3 * 3_600_000 - 1_000);
    own.offMs = 0;
    expect(dates.aheadMs()).toBe(0);
  });

  test('may differ by as much as an answer took', () => {
    const { own, dates, dateNow } = clocks();
    own.offMs = 20_000;
    const answered = dates.begin();
    own.atMs += 30_000;
    answered(dateNow());
    expect(dates.aheadMs()).toBe(0);
  });
});
