import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { formatDuration, parseDurationMs } from './duration.js';

fc.configureGlobal({ seed: 1 });

describe('durations', () => {
  test.each([
    ['336h', 336 * 3_600_000],
    ['1h30m', 5_400_000],
    ['1.5h', 5_400_000],
    ['30s', 30_000],
    ['250ms', 250],
    ['0', 0],
    ['0s', 0],
    ['-5m', -300_000],
    ['1us', 0],
    ['2562047h', 2_562_047 * 3_600_000],
  ])('%s is %i ms', (text, ms) => expect(parseDurationMs(text)).toBe(ms));
  test.each(['', '5', 'h', 'Never', '1d', '5 m', '1h-5m', '2562048h', `${'9'.repeat(400)}h`])(
    '%j is none',
    (text) => expect(parseDurationMs(text)).toBeUndefined(),
  );
  test('what is written reads back', () =>
    fc.assert(fc.property(fc.nat(), (ms) => parseDurationMs(formatDuration(ms)) === ms)));
});

test.each([
  [-61_000, '0s'],
  [0, '0s'],
  [1, '0.001s'],
  [30_000, '30s'],
  [60_000, '1m'],
  [5_400_000, '1h30m'],
  [336 * 3_600_000, '336h'],
])('%d ms is written %s', (ms, text) => expect(formatDuration(ms)).toBe(text));

test('a sign turns every duration round', () =>
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 40 }), (ms) => {
      const text = formatDuration(ms);
      expect([parseDurationMs(`-${text}`), parseDurationMs(`+${text}`)]).toEqual([-ms, ms]);
    }),
  ));
