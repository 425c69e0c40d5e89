import { describe, expect, test } from 'vitest';

import { uncharged } from './bounds/uncharged.js';
import { checkPlan, defaultPlanOptions, plan } from './index.js';
import { offeringOf, podsOf, poolOf, snapshotOf, typeOf } from './testing/objects.js';
import { mixedWorld } from './testing/worlds.js';

/** Small types are cheapest per pod, as the smallest burstable types of EC2 are. */
const instanceTypes = [
  { name: 't.nano', pods: 4, price: 4_200 },
  { name: 't.medium', pods: 17, price: 33_600 },
  { name: 't.large', pods: 35, price: 67_200 },
].map(({ name, pods, price }) => {
  const type = typeOf({
    name,
    cpuMillis: 2000,
    memoryBytes: 8e9,
    offerings: [offeringOf('zone-a', 'on-demand', price)],
  });
  return { ...type, allocatable: { ...type.allocatable, pods } };
});
const snapshot = snapshotOf({
  pools: [{ pool: poolOf('default', { maxPriceMicrosPerHour: 67_200 }), instanceTypes }],
});
const pods = podsOf('p', 50, { requests: { cpu: 0, memory: 0, pods: 1 } });

describe('a charge per node', () => {
  test.each([
    [0, 13, 54_600],
    [3_000, 13, 54_600],
    [10_000, 2, 100_800],
  ])(
    'of %i buys %i nodes for 50 pods without requests, and the price %i leaves it out',
    (nodeChargeMicrosPerHour, nodes, price) => {
      const options = { ...defaultPlanOptions, nodeChargeMicrosPerHour };
      const made = plan(snapshot, pods, options);
      expect([made.newNodes.length, made.priceMicrosPerHour]).toEqual([nodes, price]);
      expect(checkPlan(snapshot, pods, made, options)).toEqual([]);
    },
  );

  test('keeps every plan of the generated worlds valid, with its bound not above its price', () => {
    for (let seed = 1; seed <= 60; seed += 1) {
      const world = mixedWorld(seed);
      const options = { ...world.options, nodeChargeMicrosPerHour: 20_000 };
      const made = plan(world.snapshot, world.pods, options);
      expect({ seed, broken: checkPlan(world.snapshot, world.pods, made, options) }).toEqual({
        seed,
        broken: [],
      });
    }
  });
});

test.each([
  ['less the charge of as many nodes', 100, 2, { kind: 'spread', priceMicrosPerHour: 40 }],
  ['none where the charge is all of it', 60, 2, { kind: 'none', priceMicrosPerHour: 0 }],
] as const)('a bound without the charge is %s', (_, priceMicrosPerHour, nodes, expected) =>
  expect(
    uncharged({ kind: 'spread', priceMicrosPerHour }, nodes, { nodeChargeMicrosPerHour: 30 }),
  ).toEqual(expected),
);
