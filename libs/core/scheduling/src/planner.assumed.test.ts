import type { Pod } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import {
  checkPlan,
  defaultPlanOptions,
  defaultSizing,
  type Plan,
  plan,
  type Snapshot,
} from './index.js';
import {
  mebibytes,
  nodeOf,
  offeringOf,
  podsOf,
  poolOf,
  snapshotOf,
  typeOf,
} from './testing/objects.js';
import { mixedWorld } from './testing/worlds.js';

/** Rows of the t family: pods as EC2's network interfaces allow, prices in proportion to size. */
const instanceTypes = [
  { name: 't.nano', gib: 0.5, pods: 4, price: 4_200 },
  { name: 't.small', gib: 2, pods: 11, price: 16_800 },
  { name: 't.large', gib: 8, pods: 35, price: 67_200 },
  { name: 't.xlarge', gib: 16, pods: 58, price: 134_400 },
].map(({ name, gib, pods, price }) =>
  typeOf({
    name,
    cpuMillis: 2000,
    memoryBytes: mebibytes(1024 * gib),
    pods,
    overhead: { cpu: 80, memory: mebibytes(300) },
    offerings: [offeringOf('zone-a', 'on-demand', price)],
  }),
);
const bare = (count: number): readonly Pod[] =>
  podsOf('p', count, { requests: { cpu: 0, memory: 0, pods: 1 } });

const options = { ...defaultPlanOptions, ...defaultSizing };

function planned(pods: readonly Pod[], over: Partial<Snapshot> = {}): Plan {
  const snapshot = snapshotOf({ pools: [{ pool: poolOf('default'), instanceTypes }], ...over });
  const made = plan(snapshot, pods, options);
  expect(checkPlan(snapshot, pods, made, options)).toEqual([]);
  return made;
}

describe('pods without requests', () => {
  test('by their requests alone buy a swarm of the smallest type', () => {
    const snapshot = snapshotOf({ pools: [{ pool: poolOf('default'), instanceTypes }] });
    expect(plan(snapshot, bare(50), defaultPlanOptions).newNodes).toHaveLength(13);
  });
  test('count as more on new nodes, so that 50 of them need at most two', () => {
    const { newNodes, unplaced } = planned(bare(50));
    expect(unplaced).toEqual([]);
    expect(newNodes.length).toBeLessThanOrEqual(2);
  });
  test('leave the requests of their claim as they are', () =>
    expect(planned(bare(3)).newNodes.map(({ requests }) => requests)).toEqual([{ pods: 3 }]));
  test('go to existing nodes by their requests alone', () => {
    const allocatable = { cpu: 10, memory: mebibytes(1), pods: 50 };
    const made = planned(bare(50), { nodes: [nodeOf('full', { allocatable })] });
    expect([made.newNodes, made.placements[0]?.podUids.length]).toEqual([[], 50]);
  });
  test('count by their requests where no type of a pool holds them otherwise', () => {
    const tiny = typeOf({
      name: 't.tiny',
      cpuMillis: 2000,
      memoryBytes: mebibytes(200),
      pods: 4,
      offerings: [offeringOf('zone-a', 'on-demand', 2_100)],
    });
    const pools = [{ pool: poolOf('default'), instanceTypes: [tiny] }];
    expect(planned(bare(8), { pools }).newNodes.map(({ podUids }) => podUids.length)).toEqual([
      4, 4,
    ]);
  });
  test('count by their requests where a limit would leave them out', () => {
    const pool = poolOf('default', { limits: { memory: mebibytes(2048) } });
    const { unplaced, assumedRequests } = planned(bare(11), { pools: [{ pool, instanceTypes }] });
    expect([unplaced, assumedRequests]).toEqual([[], undefined]);
  });
  test('are told in the plan with what they count as, and with the charge per node', () => {
    const { assumedRequests, nodeChargeMicrosPerHour } = planned(bare(3));
    expect(assumedRequests).toEqual({ cpu: 25, memory: mebibytes(250) });
    expect(nodeChargeMicrosPerHour).toBe(5_000);
    expect(planned(podsOf('asks', 3))).not.toHaveProperty('assumedRequests');
  });
  test('are never left out for what they count as, in generated worlds', () => {
    for (let seed = 1; seed <= 60; seed += 1) {
      const { snapshot, pods, options: given } = mixedWorld(seed);
      const alone = { ...given, nodeChargeMicrosPerHour: 5_000, fewerNodesPermille: 10 };
      const assuming = { ...alone, assumedRequests: options.assumedRequests };
      const some = pods.map((pod, index): Pod => {
        const requests = index % 2 === 0 ? pod.requests : { ...pod.requests, cpu: 0, memory: 0 };
        return { ...pod, requests };
      });
      const made = plan(snapshot, some, assuming);
      const { unplaced } = plan(snapshot, some, alone);
      expect({ seed, broken: checkPlan(snapshot, some, made, assuming) }).toEqual({
        seed,
        broken: [],
      });
      expect(made.unplaced.length).toBeLessThanOrEqual(unplaced.length);
      expect(made.bound.priceMicrosPerHour).toBeLessThanOrEqual(made.priceMicrosPerHour);
    }
  });
});
