import { expect, test } from 'vitest';

import { costColumns } from './cost-columns.js';

const micro = 1_000_000;

test.each<[string, ...Parameters<typeof costColumns>, ReturnType<typeof costColumns>]>([
  ['nothing', [], [], 9_000, [[], [], []]],
  [
    'a cost up to now',
    [[1_000, micro]],
    [],
    9_000,
    [
      [1, 9],
      [1, 1],
      [null, null],
    ],
  ],
  [
    'a bound alone',
    [],
    [[1_000, micro]],
    9_000,
    [
      [1, 9],
      [null, null],
      [1, 1],
    ],
  ],
  [
    'a bound that comes later than the cost, and a point of either at each time',
    [
      [1_000, 2 * micro],
      [5_000, 3 * micro],
    ],
    [[3_000, micro]],
    9_000,
    [
      [1, 3, 5, 9],
      [2, 2, 3, 3],
      [null, 1, 1, 1],
    ],
  ],
  [
    'two points at one time as the last',
    [
      [1_000, micro],
      [1_000, 0],
    ],
    [],
    1_000,
    [[1], [0], [null]],
  ],
])('the chart draws %s', (_what, cost, bounds, nowMs, columns) =>
  expect(costColumns(cost, bounds, nowMs)).toEqual(columns),
);
