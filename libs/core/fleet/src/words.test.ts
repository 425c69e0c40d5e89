import { expect, test } from 'vitest';

import {
  countText,
  dollarsText,
  factsWords,
  periodText,
  shareOf,
  stepText,
  sumOfFills,
} from './words.js';

test.each([
  [0, '0s'],
  [999, '0s'],
  [61_000, '1m 1s'],
  [120_000, '2m'],
  [3_600_000 * 5 + 59_000, '5h'],
  [86_400_000 * 3 + 3_600_000 * 4 + 60_000, '3d 4h'],
])('%i ms are %s', (ms, text) => expect(periodText(ms)).toBe(text));

test.each([
  [{ what: 'becomes ready' }, 'becomes ready'],
  [{ what: 'expires', atMs: 5_000 }, 'expires in 4s'],
  [{ what: 'expires', atMs: 1_000 }, 'expires now'],
  [{ what: 'expires', atMs: 0 }, 'expires now'],
])('the step %j reads: %s', (step, text) => expect(stepText(step, 1_000)).toBe(text));

test.each([
  [0, '0 nodes'],
  [1, '1 node'],
  [2, '2 nodes'],
])('%i is %s', (count, text) => expect(countText(count, 'node')).toBe(text));

test('a node that can give nothing is not full', () =>
  expect(shareOf({ requested: 5, allocatable: 0 })).toBe(0));

test('nodes together are as full as their sums', () =>
  expect(
    shareOf(
      sumOfFills([
        { requested: 1, allocatable: 2 },
        { requested: 0, allocatable: 2 },
      ]),
    ),
  ).toBe(0.25));

test.each([
  [308_000, '$0.3080/h'],
  [0, '$0.0000/h'],
  [-1_500, '-$0.0015/h'],
])('%i micro-dollars an hour are %s', (micros, text) => expect(dollarsText(micros)).toBe(text));

test.each<[Readonly<Record<string, string>>, readonly string[]]>([
  [{ group: '', pods: '3' }, ['pods: 3']],
  [{ nodeChargeMicrosPerHour: '5000' }, ['nodeCharge: $0.0050/h']],
  [{ planPriceMicrosPerHour: '~5' }, ['planPriceMicrosPerHour: ~5']],
  [{ savedMicrosPerHour: '-10000' }, ['saved: -$0.0100/h']],
  [
    { priceBeforeMicrosPerHour: '616000', savedMicrosPerHour: '308000' },
    ['priceBefore: $0.6160/h', 'priceAfter: $0.3080/h', 'saved: $0.3080/h'],
  ],
  [{ priceBeforeMicrosPerHour: '616000' }, ['priceBefore: $0.6160/h']],
  [{ pods: '2', moves: 'a: x to y; b: x to z' }, ['pods: 2', 'moves: a: x to y | b: x to z']],
  [{ pods: '3', moves: 'a: x to y' }, ['pods: 3', 'moves: a: x to y | and 2 more']],
])('the facts %j read: %j', (facts, lines) =>
  expect(factsWords(facts).map(({ name, values }) => `${name}: ${values.join(' | ')}`)).toEqual(
    lines,
  ),
);
