import { join } from 'node:path';

import { expect, test } from 'vitest';

import { boundStepsByDefault } from '../commands/simulate.js';
import type { SimulationResult } from './result.js';
import { resultOf, simulate } from './testing/simulating.js';

const root = join(import.meta.dirname, '../../../..');

/** The cost that `dovetail simulate` shows without improving the plan. */
async function costOf(path: string, catalog: string): Promise<SimulationResult['cost']> {
  const steps = { boundSteps: boundStepsByDefault };
  return resultOf(await simulate([join(root, path)], { catalog, ...steps })).cost;
}

test.each([
  ['examples/web', 'us-east-1'],
  ['examples/mixed', 'us-east-1'],
  ['tests/scenarios/spot-three-zones', 'eu-west-1'],
  ['tests/scenarios/expiry-upgrade', 'us-west-2'],
])(
  'the plan of %s in %s costs at most 2 %% above a bound that the default steps prove',
  async (path, catalog) => {
    const { hourly, lowerBound } = await costOf(path, catalog);
    // The bound holds for nodes of some sizes as well, where no gap is shown.
    const gap = hourly / lowerBound - 1;
    expect(gap).toBeGreaterThanOrEqual(0);
    expect(gap).toBeLessThanOrEqual(0.02);
  },
);

test('a machine whose every look at the clock takes an hour proves the same bound', async () => {
  const quick = await costOf('examples/web', 'us-east-1');
  const { now } = performance;
  let hours = 0;
  performance.now = () => (hours += 1) * 3_600_000;
  try {
    expect(await costOf('examples/web', 'us-east-1')).toEqual(quick);
  } finally {
    performance.now = now;
  }
});
