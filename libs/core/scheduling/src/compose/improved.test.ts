import { describe, expect, test } from '@jest/globals';

import { defaultPlanOptions, plan } from '../index.js';
import { poolOf, snapshotOf } from '../testing/objects.js';
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
