import { expect, test } from 'vitest';

import { plan } from './index.js';
import { defaultPlanOptions } from './options.js';
import { offeringOf, podOf, poolOf, snapshotOf, typeOf } from './testing/objects.js';

test('by default a plan takes no step of search and names the 600 cheapest types of a node', () => {
  const instanceTypes = Array.from({ length: 700 }, (_, index) =>
    typeOf({
      name: `m.${index}`,
      cpuMillis: 4000,
      memoryBytes: 1e9,
      offerings: [offeringOf('zone-a', 'on-demand', 1000 - index)],
    }),
  );
  const snapshot = snapshotOf({ pools: [{ pool: poolOf('default'), instanceTypes }] });
  const made = plan(snapshot, [podOf('p')], defaultPlanOptions);
  const prices = made.newNodes[0]?.options.map(({ priceMicrosPerHour }) => priceMicrosPerHour);
  expect(made.steps).toBe(0);
  expect(prices).toEqual(Array.from({ length: 600 }, (_, index) => 301 + index));
});
