import { describe, expect, test } from 'vitest';

import { cronSchedule, isTimeZone } from './cron-schedule.js';

const startsAfter = (schedule: string, from: string, zone?: string): readonly string[] => {
  const { nextAfter } = cronSchedule(schedule, zone);
  const starts: string[] = [];
  let ms: number | undefined = Date.parse(from);
  for (let count = 0; count < 3 && ms !== undefined; count += 1) {
    ms = nextAfter(ms);
    starts.push(ms === undefined ? 'never' : new Date(ms).toISOString().slice(0, 16));
  }
  return starts;
};

describe('the starts of a schedule', () => {
  test.each([
    ['*/20 * * * *', ['2026-01-01T00:20', '2026-01-01T00:40', '2026-01-01T01:00']],
    ['5/25 * * * *', ['2026-01-01T00:05', '2026-01-01T00:30', '2026-01-01T00:55']],
    ['@hourly', ['2026-01-01T01:00', '2026-01-01T02:00', '2026-01-01T03:00']],
    ['@midnight', ['2026-01-02T00:00', '2026-01-03T00:00', '2026-01-04T00:00']],
    ['@every 1h30m', ['2026-01-01T01:30', '2026-01-01T03:00', '2026-01-01T04:30']],
    // With both days given, either counts; with a star in one, only the other.
    ['0 0 13 * fri', ['2026-01-02T00:00', '2026-01-09T00:00', '2026-01-13T00:00']],
    ['0 0 ? * 5', ['2026-01-02T00:00', '2026-01-09T00:00', '2026-01-16T00:00']],
    ['0 0 29 feb *', ['2028-02-29T00:00', '2032-02-29T00:00', '2036-02-29T00:00']],
    ['0 0 31 2 *', ['never']],
    [', * * * *', ['never']],
  ])('%s', (schedule, starts) =>
    expect(startsAfter(schedule, '2026-01-01T00:00Z')).toEqual(starts),
  );

  test('are of the zone, before and after its clocks change', () =>
    expect(startsAfter('0 3 * * *', '2026-03-28T00:00Z', 'Europe/Berlin')).toEqual([
      '2026-03-28T02:00',
      '2026-03-29T01:00',
      '2026-03-30T01:00',
    ]));
});

test.each([
  ['', 'expected exactly 5 fields, found 0: []'],
  ['* * * *', 'expected exactly 5 fields, found 4: [* * * *]'],
  ['60 * * * *', 'end of range (60) above maximum (59): 60'],
  ['* * 0 * *', 'beginning of range (0) below minimum (1): 0'],
  ['5-1 * * * *', 'beginning of range (5) beyond end of range (1): 5-1'],
  ['1-2-3 * * * *', 'too many hyphens: 1-2-3'],
  ['1/2/3 * * * *', 'too many slashes: 1/2/3'],
  ['*/0 * * * *', 'step of range should be a positive number: */0'],
  ['x * * * *', 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'],
  ['0 0 L * *', 'failed to parse int from L: strconv.Atoi: parsing "L": invalid syntax'],
  ['@fortnightly', 'unrecognized descriptor: @fortnightly'],
  ['@every day', 'failed to parse duration @every day: time: invalid duration "day"'],
])('the schedule "%s" is refused in the words of Kubernetes', (schedule, message) =>
  expect(() => cronSchedule(schedule)).toThrow(message),
);

test.each([
  ['UTC', true],
  ['Europe/Berlin', true],
  ['US/Eastern', true],
  ['Etc/GMT+5', true],
  ['europe/berlin', false],
  ['+05:00', false],
  ['Mars/Olympus', false],
  ['', false],
])('the zone "%s" is there: %s', (zone, there) => expect(isTimeZone(zone)).toBe(there));
