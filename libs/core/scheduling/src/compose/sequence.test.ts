import type { Pod } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { defaultPlanOptions } from '../options.js';
import type { PlanOptions, Snapshot } from '../snapshot.js';
import {
  gibibytes,
  nodeOf,
  offeringOf,
  podOf,
  podsOf,
  poolOf,
  selecting,
  snapshotOf,
  typeOf,
} from '../testing/objects.js';
import { mixedWorld } from '../testing/worlds.js';
import { worldOf } from '../world/world.js';
import { buildInSequence } from './sequence.js';

const zoneKey = 'topology.kubernetes.io/zone';
const pools: Snapshot['pools'] = [
  {
    pool: poolOf('default'),
    instanceTypes: [
      typeOf({
        name: 'm.4',
        cpuMillis: 4000,
        memoryBytes: gibibytes(16),
        offerings: ['a', 'b'].map((zone) => offeringOf(zone, 'on-demand', 100)),
      }),
    ],
  },
];
function built(
  pods: readonly Pod[],
  snapshot: Partial<Snapshot> = {},
  options: Partial<PlanOptions> = {},
) {
  const world = worldOf(snapshotOf({ pools, ...snapshot }), pods, {
    ...defaultPlanOptions,
    ...options,
  });
  const { engine, left } = buildInSequence(world);
  return {
    existing: engine.existing.map((bin) => bin.pods),
    fresh: engine.fresh.map((bin) => bin.pods),
    left: left.reduce((sum, count) => sum + count, 0),
  };
}
const cores = (count: number) => ({ requests: { cpu: count * 1000, memory: 1 } });
const preferring = (zone: string): Partial<Pod> => ({
  preferredNodeAffinity: [
    {
      weight: 1,
      term: {
        matchExpressions: [{ key: zoneKey, operator: 'In', values: [zone] }],
        matchFields: [],
      },
    },
  ],
});

describe('classes that are placed one after the other', () => {
  test.each<[string, ReturnType<typeof built>, ReturnType<typeof built>]>([
    ['need nothing when there are none', built([]), { existing: [], fresh: [], left: 0 }],
    [
      'fill nodes that exist, then new ones',
      built(podsOf('p', 6, cores(1)), { nodes: [nodeOf('n')] }),
      { existing: [4], fresh: [2], left: 0 },
    ],
    [
      'go onto the emptiest new node',
      built([...podsOf('large', 2, cores(3)), ...podsOf('small', 2, cores(1))]),
      { existing: [], fresh: [2, 2], left: 0 },
    ],
    [
      'begin with the largest pods',
      built([podOf('small', cores(1)), podOf('large', cores(4))], { nodes: [nodeOf('n')] }),
      { existing: [1], fresh: [1], left: 0 },
    ],
    [
      'are left over where no type holds them',
      built([podOf('p', cores(5)), podOf('q', cores(1))]),
      { existing: [], fresh: [1], left: 1 },
    ],
    [
      'stay within a limit at every step',
      built(podsOf('p', 3, cores(4)), {
        pools: pools.map((one) => ({ ...one, pool: poolOf('default', { limits: { nodes: 2 } }) })),
      }),
      { existing: [], fresh: [1, 1], left: 1 },
    ],
    [
      'give up a preference that nothing meets',
      built([podOf('p', preferring('z'))]),
      { existing: [], fresh: [1], left: 0 },
    ],
    [
      'are all placed, being few, though the time is up',
      built(podsOf('p', 3, cores(1)), {}, { shouldStop: () => true }),
      { existing: [], fresh: [3], left: 0 },
    ],
  ])('%s', (_, made, expected) => expect(made).toEqual(expected));

  test('wait for the pods that they follow, whatever their size', () => {
    const follower = podOf('follower', {
      ...cores(3),
      requiredPodAffinity: [
        { topologyKey: zoneKey, selector: selecting({ app: 'db' }), namespaces: [] },
      ],
    });
    const leader = podOf('leader', { ...cores(2), labels: { app: 'db' } });
    expect(built([follower, leader])).toMatchObject({ fresh: [1, 1], left: 0 });
  });
});

test('every pod of a world is on a node or left over, in any world', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000 }), (seed) => {
      const { snapshot, pods, options } = mixedWorld(seed);
      const { engine, left } = buildInSequence(worldOf(snapshot, pods, options));
      // Not by the pods of a bin, which include those that run there already.
      const placed = [...engine.existing, ...engine.fresh]
        .flatMap((bin) => [...bin.contents.values()])
        .reduce((sum, count) => sum + count, 0);
      expect(placed + left.reduce((sum, count) => sum + count, 0)).toBe(pods.length);
      expect(left.every((count) => count >= 0)).toBe(true);
    }),
    { seed: 1, numRuns: 30 },
  );
});
