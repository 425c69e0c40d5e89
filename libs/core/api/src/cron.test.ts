import { inheritedKeys } from '@dovetail/core-kube-model/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { type CronSchedule, isWindowOpen, lastHitMs, parseCron } from './cron.js';

const read = (text: string): CronSchedule => {
  const parsed = parseCron(text);
  if (!parsed.ok) throw new Error(`${parsed.field}: ${parsed.remedy}`);
  return parsed.value;
};
const at = (text: string): number => Date.parse(`${text}Z`);

describe('a schedule last hit', () => {
  test.each([
    // schedule            now                    last hit
    ['0 9 * * *', '2026-11-21T12:00', '2026-11-21T09:00'],
    ['0 9 * * *', '2026-11-21T08:59', '2026-11-20T09:00'],
    ['0 9 * * *', '2026-11-21T09:00', '2026-11-21T09:00'],
    ['*/15 * * * *', '2026-11-21T12:44', '2026-11-21T12:30'],
    ['5/20 * * * *', '2026-11-21T12:44', '2026-11-21T12:25'],
    ['0 9 * * mon-fri', '2026-11-21T12:00', '2026-11-20T09:00'],
    ['0 9 * * 1-5', '2026-11-22T12:00', '2026-11-20T09:00'],
    ['0 0 1 * 0', '2026-11-21T12:00', '2026-11-15T00:00'], // both days restricted: either
    ['0 0 1 * ?', '2026-11-21T12:00', '2026-11-01T00:00'],
    ['0 0 */2 * sun', '2026-11-21T12:00', '2026-11-21T00:00'], // a step restricts: 21 is odd
    ['30 6,18 * jan *', '2026-11-21T12:00', '2026-01-31T18:30'],
    ['0 0 29 2 *', '2026-11-21T12:00', '2024-02-29T00:00'],
    ['@hourly', '2026-11-21T12:44', '2026-11-21T12:00'],
    ['@weekly', '2026-11-21T12:44', '2026-11-15T00:00'],
    ['@annually', '2026-11-21T12:44', '2026-01-01T00:00'],
  ])('%s at %s: %s', (schedule, now, hit) =>
    expect(lastHitMs(read(schedule), at(now))).toBe(at(hit)),
  );

  test('never, on a day that does not exist', () =>
    expect(lastHitMs(read('0 0 31 2 *'), at('2026-11-21T12:00'))).toBeUndefined());
});

test.each<[string, string]>([
  ['* * * *', 'schedule'],
  ['60 * * * *', 'minute'],
  ['* 24 * * *', 'hour'],
  ['* * 0 * *', 'day of month'],
  ['* * * 13 *', 'month'],
  ['* * * * 7', 'day of week'],
  ['5-1 * * * *', 'minute'],
  ['*/0 * * * *', 'minute'],
  ['1/2/3 * * * *', 'minute'],
  ['* * * foo *', 'month'],
  ['@never', 'schedule'],
  ...inheritedKeys.map((key): [string, string] => [key, 'schedule']),
  ['TZ=Asia/Tokyo 0 9 * * *', 'schedule'],
  ['', 'schedule'],
])('%j is refused, naming the %s', (text, field) =>
  expect(parseCron(text)).toMatchObject({ ok: false, field }),
);

test('a window is open from its hit until its length is over', () => {
  const open = (now: string): boolean =>
    isWindowOpen(read('0 9 * * *'), { durationMs: 3_600_000, nowMs: at(now) });
  expect([
    open('2026-11-21T08:59:59'),
    open('2026-11-21T09:00:00'),
    open('2026-11-21T09:59:59'),
    open('2026-11-21T10:00:00'),
  ]).toEqual([false, true, true, false]);
});

test('the last hit is never in the future and is a minute that each field admits', () =>
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 59 }),
      fc.integer({ min: 0, max: 23 }),
      fc.integer({ min: 0, max: 6 }),
      fc.integer({ min: at('2020-01-01T00:00'), max: at('2030-01-01T00:00') }),
      (minute, hour, weekday, nowMs) => {
        const hit = lastHitMs(
          read(`${String(minute)} ${String(hour)} * * ${String(weekday)}`),
          nowMs,
        );
        const date = new Date(hit ?? 0);
        return (
          hit !== undefined &&
          hit <= nowMs &&
          nowMs - hit < 7 * 86_400_000 + 60_000 &&
          date.getUTCMinutes() === minute &&
          date.getUTCHours() === hour &&
          date.getUTCDay() === weekday
        );
      },
    ),
  ));
