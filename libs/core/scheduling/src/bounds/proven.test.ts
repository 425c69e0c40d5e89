import { highsSolver } from '@dovetail/adapter-highs';
import type { Pod } from '@dovetail/core-kube-model';
import { afterAll, expect, test } from 'vitest';

import { defaultPlanOptions, defaultSizing, plan, provenBound } from '../index.js';
import { mebibytes, offeringOf, podsOf, poolOf, snapshotOf, typeOf } from '../testing/objects.js';
import { mixedWorld } from '../testing/worlds.js';

const lp = highsSolver();
afterAll(() => lp.close());
const proof = { lp, msMax: 10_000 };

const small = typeOf({
  name: 't.small',
  cpuMillis: 2000,
  memoryBytes: mebibytes(2048),
  pods: 11,
  offerings: [offeringOf('zone-a', 'on-demand', 16_800)],
});
const bare = podsOf('p', 11, { requests: { cpu: 0, memory: 0, pods: 1 } });
const options = { ...defaultPlanOptions, ...defaultSizing };

test.each([
  ['counts what its nodes count for pods without requests', {}, 33_600],
  ['counts requests alone where the plan did', { limits: { nodes: 1 } }, 16_800],
])('the bound of a plan %s', async (_, over, price) => {
  const snapshot = snapshotOf({
    pools: [{ pool: poolOf('default', over), instanceTypes: [small] }],
  });
  const made = plan(snapshot, bare, options);
  const bound = await provenBound(made, { snapshot, pods: bare, options }, proof);
  expect([made.priceMicrosPerHour, bound.priceMicrosPerHour]).toEqual([price, price]);
});

test('no plan of generated worlds with pods without requests costs less than its bound', async () => {
  for (let seed = 1; seed <= 30; seed += 1) {
    const { snapshot, pods, options: given } = mixedWorld(seed);
    const some = pods.map((pod, index): Pod => {
      const requests = index % 2 === 0 ? pod.requests : { ...pod.requests, cpu: 0, memory: 0 };
      return { ...pod, requests };
    });
    const planned = { snapshot, pods: some, options: { ...given, ...defaultSizing } };
    const made = plan(snapshot, some, planned.options);
    const { priceMicrosPerHour } = await provenBound(made, planned, proof);
    expect({ seed, least: priceMicrosPerHour <= made.priceMicrosPerHour }).toEqual({
      seed,
      least: true,
    });
  }
});
