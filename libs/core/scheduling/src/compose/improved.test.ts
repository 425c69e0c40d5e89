import { describe, expect, test } from 'vitest';

import { defaultPlanOptions, plan } from '../index.js';
import { podsOf, poolOf, snapshotOf } from '../testing/objects.js';
import { smallWorkloads } from '../testing/small.js';
import { familyTypes } from '../testing/worlds.js';

// Fifty-one pods of five deployments, four of them spread over zones: too many ways to go through.
const { pods, daemonSets } = smallWorkloads(14);
const snapshot = snapshotOf({
  pools: [{ pool: poolOf('default'), instanceTypes: familyTypes() }],
  daemonSets,
});
const planWith = (over: Partial<typeof defaultPlanOptions>) =>
  plan(snapshot, pods, { ...defaultPlanOptions, ...over });

describe('few pods that spread over domains', () => {
  test('are divided in several ways, and more ways cost no more', () => {
    const prices = [0, 400, 900].map((stepsMax) => planWith({ stepsMax }).priceMicrosPerHour);
    expect([...prices].sort((a, b) => b - a)).toEqual(prices);
    expect(new Set(prices).size).toBeGreaterThan(1);
  });

  test.each([3, 450, 700])(
    'have a plan that its steps reproduce when the clock ends it after %i questions',
    (questions) => {
      let asked = 0;
      const stopped = planWith({
        stepsMax: 5_000,
        shouldStop: () => {
          asked += 1;
          return asked > questions;
        },
      });
      expect(stopped.steps).toBeLessThan(5_000);
      expect(planWith({ stepsMax: stopped.steps })).toEqual(stopped);
    },
  );
});

describe('few nodes of plain pods', () => {
  const few = Array.from({ length: 12 }, (_, app) =>
    podsOf(`app-${app}`, 4, {
      requests: { cpu: 310 + 170 * app, memory: (500 + 870 * ((app * 7) % 12)) * 2 ** 20 },
    }),
  ).flat();
  const fewWith = (over: Partial<typeof defaultPlanOptions>) =>
    plan(snapshot, few, { ...defaultPlanOptions, ...over });

  test('are searched again with other numbers, so what the next seed finds is found', () => {
    for (const seed of [1, 2, 3])
      expect(fewWith({ seed, stepsMax: 2_500 }).priceMicrosPerHour).toBeLessThanOrEqual(
        fewWith({ seed: seed + 1, stepsMax: 400 }).priceMicrosPerHour,
      );
  });

  test.each([50, 900, 1_700])(
    'have a plan that its steps reproduce when the clock ends it after %i questions',
    (questions) => {
      let asked = 0;
      const shouldStop = (): boolean => (asked += 1) > questions;
      const stopped = fewWith({ stepsMax: 5_000, shouldStop });
      expect(stopped.steps).toBeLessThan(5_000);
      expect(fewWith({ stepsMax: stopped.steps })).toEqual(stopped);
    },
  );
});

describe('many plain pods', () => {
  // Requests that no type's room is a multiple of, and a ratio of cpu to memory that varies.
  const many = Array.from({ length: 24 }, (_, app) =>
    podsOf(`app-${app}`, 12, {
      requests: { cpu: 310 + 170 * app, memory: (500 + 870 * ((app * 7) % 24)) * 2 ** 20 },
    }),
  ).flat();
  const manyWith = (over: Partial<typeof defaultPlanOptions>) =>
    plan(snapshot, many, { ...defaultPlanOptions, ...over });

  test('have a search that begins with blocks, which count as a step and never cost more', () => {
    const [none, blocks] = [0, 1].map((stepsMax) => manyWith({ stepsMax }));
    expect([none?.steps, blocks?.steps]).toEqual([0, 1]);
    expect(blocks?.priceMicrosPerHour).toBeLessThanOrEqual(none?.priceMicrosPerHour ?? 0);
    expect(none?.newNodes.length).toBeGreaterThan(12);
  });

  /** The plan of a clock that ends after so many questions, and how many were asked. */
  const askedUpTo = (questions: number, stepsMax: number) => {
    let asked = 0;
    const shouldStop = (): boolean => (asked += 1) > questions;
    return { made: manyWith({ stepsMax, shouldStop }), asked };
  };
  // The clock may also end the first plan, which is no step. The search begins after its questions.
  const { asked: questionsOfFirst } = askedUpTo(Infinity, 0);

  test.each([1, 2, 4, 8, 40])(
    'have a plan that its steps reproduce when the clock ends it after %i questions of the search',
    (questions) => {
      const { made: stopped } = askedUpTo(questionsOfFirst + questions, 5_000);
      expect(stopped.steps).toBeLessThan(5_000);
      expect(manyWith({ stepsMax: stopped.steps })).toEqual(stopped);
    },
  );
});
