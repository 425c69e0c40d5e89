import type { Clock } from '@dovetail/core-ports';
import { Stopper } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import { backgroundTurnMs, Turns } from './turns.js';

/** Each step of the work takes so long; counts the pauses. */
async function pauses(stepMs: number, steps: number, lengthMs?: number): Promise<number> {
  let [nowMs, slept] = [0, 0];
  const clock: Clock = {
    nowMs: () => nowMs,
    sleep: (ms) => {
      nowMs += ms;
      slept += 1;
      return Promise.resolve();
    },
  };
  const turns = new Turns(clock, lengthMs);
  for (let step = 0; step < steps; step += 1) {
    nowMs += stepMs;
    await turns.give(new Stopper());
  }
  return slept;
}

test.each([
  ['quick steps go on', 0, 1_000, 0],
  ['steps of 10 ms pause after every fifth', 10, 100, 20],
  ['long steps pause after each', 200, 10, 10],
  ['work in the background pauses more often', 10, 99, 33, backgroundTurnMs],
] as const)('%s', async (_, stepMs, steps, expected, lengthMs?: number) =>
  expect(await pauses(stepMs, steps, lengthMs)).toBe(expected),
);
