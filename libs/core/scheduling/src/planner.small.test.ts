import { highsSolver } from '@dovetail/adapter-highs';
import { afterAll, expect, test } from 'vitest';

import { checkPlan, defaultPlanOptions, plan, provenBound } from './index.js';
import { poolOf, snapshotOf } from './testing/objects.js';
import { smallWorkloads } from './testing/small.js';
import { familyTypes } from './testing/worlds.js';

const lp = highsSolver();
afterAll(() => lp.close());

// `npm run bench -- prices --cases small` draws new seeds.
test.each([1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18, 19, 20])(
  'the plan of the small world %i costs at most 2 %% above a proven bound',
  async (seed) => {
    const { pods, daemonSets } = smallWorkloads(seed);
    const snapshot = snapshotOf({
      pools: [{ pool: poolOf('default'), instanceTypes: familyTypes() }],
      daemonSets,
    });
    const options = { ...defaultPlanOptions, stepsMax: 500 };
    const made = plan(snapshot, pods, options);
    expect(checkPlan(snapshot, pods, made, options)).toEqual([]);
    expect(made.unplaced).toEqual([]);
    const bound = await provenBound(made, { snapshot, pods, options }, { lp, msMax: 60_000 });
    expect(made.priceMicrosPerHour).toBeGreaterThanOrEqual(bound.priceMicrosPerHour);
    expect(made.priceMicrosPerHour / bound.priceMicrosPerHour).toBeLessThanOrEqual(1.02);
  },
);
