import { expect, test } from 'vitest';

import { commandWaitMs } from './command-wait.js';

const minuteMs = 60_000;

test.each([
  ['ten minutes while one node goes', 1, 10 * minuteMs],
  ['ten minutes while 7,500 go', 7_500, 10 * minuteMs],
  ['longer while more go', 15_000, 20 * minuteMs],
  ['an hour at most', 60_000, 60 * minuteMs],
])('a command waits for its replacements %s', (_how, nodes, waitMs) =>
  expect(commandWaitMs(10 * minuteMs, nodes)).toBe(waitMs),
);
