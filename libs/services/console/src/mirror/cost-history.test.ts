import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { decisionValue } from '../testing/console-stage.js';
import { costHistory, CostSteps } from './cost-history.js';

const launch = (claimName: string, atMs: number, price: number) =>
  decisionValue('launch', { claimName, atMs, priceMicrosPerHour: price });
const terminate = (claimName: string, atMs: number, price?: number) =>
  decisionValue('terminate', {
    claimName,
    atMs,
    ...(price === undefined ? {} : { priceMicrosPerHour: price }),
  });

const stepsOf = (...decisions: readonly ReturnType<typeof decisionValue>[]) => {
  const steps = new CostSteps();
  for (const decision of decisions) steps.take(decision);
  return steps.all;
};

describe('the steps of the cost', () => {
  test.each([
    ['nothing for a decision without a claim', [decisionValue('plan')], []],
    ['a launch', [launch('a', 1, 5)], [5]],
    ['a launch and its end', [launch('a', 1, 5), terminate('a', 2, 5)], [5, -5]],
    ['the end of a launch that is no longer kept', [terminate('a', 2, 5)], [-5]],
    ['nothing for an end without a price', [terminate('a', 2)], []],
    [
      'the difference for a second instance of a claim',
      [launch('a', 1, 5), launch('a', 2, 7)],
      [5, 2],
    ],
  ])('are %s', (_what, decisions, wanted) =>
    expect(stepsOf(...decisions).map(({ byMicrosPerHour }) => byMicrosPerHour)).toEqual(wanted),
  );
});

describe('the history of the cost', () => {
  test('ends at what it is now, and is counted backwards from there', () =>
    expect(costHistory(stepsOf(launch('a', 10, 5), launch('b', 20, 7)), [30, 112], 100)).toEqual([
      [9, 100],
      [10, 105],
      [20, 112],
      [30, 112],
    ]));

  test('without any decision it is the present alone', () =>
    expect(costHistory([], [30, 1], 100)).toEqual([[30, 1]]));

  test('is never below nothing, has no more points than asked for, and keeps its end', () =>
    fc.assert(
      fc.property(
        fc.array(
          fc.record({ atMs: fc.nat(1_000), byMicrosPerHour: fc.integer({ min: -9, max: 9 }) }),
        ),
        fc.nat(50),
        fc.integer({ min: 2, max: 20 }),
        (steps, now, pointsMax) => {
          const points = costHistory(steps, [1_001, now], pointsMax);
          expect(points.length).toBeLessThanOrEqual(pointsMax);
          expect(points.at(-1)).toEqual([1_001, now]);
          expect(points.every(([, micros]) => micros >= 0)).toBe(true);
        },
      ),
    ));
});
