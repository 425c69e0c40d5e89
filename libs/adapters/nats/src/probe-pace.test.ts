import { expect, test } from 'vitest';

import { ProbePace } from './probe-pace.js';

test('a stream is asked for with every heartbeat of the first ten seconds, and then every five', () => {
  const begunMs = 1_000_000;
  const pace = new ProbePace(begunMs);
  const heartbeats = Array.from({ length: 30 }, (_, index) => index + 1);
  expect(heartbeats.filter((second) => pace.isDue(begunMs + second * 1_000))).toEqual([
    ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    ...[15, 20, 25, 30],
  ]);
});
