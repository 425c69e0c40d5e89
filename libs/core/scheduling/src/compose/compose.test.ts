import type { Pod } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { assertLedgersHold } from '../laws.js';
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
import { asking, typesBy, workloadPods, workloadsOf } from '../testing/packing.js';
import { mixedWorld } from '../testing/worlds.js';
import { worldOf } from '../world/world.js';
import { compose } from './compose.js';
import { buildInSequence } from './sequence.js';

fc.configureGlobal({ seed: 1 });

// The larger type costs less than two of the smaller, and more than one.
const types = typesBy([2, 8, 100], [4, 16, 150]);

type Over = { readonly snapshot?: Partial<Snapshot>; readonly options?: Partial<PlanOptions> };
function worldFor(pods: readonly Pod[], over: Over = {}) {
  const snapshot = snapshotOf({
    pools: [{ pool: poolOf('default'), instanceTypes: types }],
    ...over.snapshot,
  });
  return worldOf(snapshot, pods, { ...defaultPlanOptions, ...over.options });
}
const sum = (counts: Iterable<number>): number =>
  [...counts].reduce((total, one) => total + one, 0);

/** The pods of each existing and each new node, those left over, and what the new nodes cost. */
function composed(pods: readonly Pod[], over?: Over) {
  const { engine, left, steps } = compose(worldFor(pods, over));
  return {
    existing: engine.existing.map(({ contents }) => sum(contents.values())),
    fresh: engine.fresh.map(({ contents }) => sum(contents.values())),
    left: sum(left),
    price: sum(engine.fresh.map((bin) => engine.priceOf(bin))),
    steps,
  };
}
const nothing = { existing: [], fresh: [], left: 0, price: 0 };
const inPool = (over: Parameters<typeof poolOf>[1]): Over => ({
  snapshot: { pools: [{ pool: poolOf('default', over), instanceTypes: types }] },
});

describe('a plan', () => {
  const follower: Partial<Pod> = {
    ...asking(1, 1),
    requiredPodAffinity: [
      { topologyKey: 'kubernetes.io/hostname', selector: selecting({ app: 'db' }), namespaces: [] },
    ],
  };
  test.each<[string, ReturnType<typeof composed>, Partial<ReturnType<typeof composed>>]>([
    ['for no pods opens no nodes', composed([]), {}],
    ['leaves over what fits nowhere', composed([podOf('p', asking(5, 1))]), { left: 1 }],
    [
      'leaves over what is refused',
      composed([podOf('p', { schedulingGates: ['g'] })]),
      { left: 1 },
    ],
    [
      'leaves over what a limit does not allow',
      composed(podsOf('p', 3, asking(4, 1)), inPool({ limits: { nodes: 2 } })),
      { fresh: [1, 1], left: 1, price: 300 },
    ],
    [
      'uses existing room before it opens nodes',
      composed(podsOf('p', 3, asking(2, 1)), {
        snapshot: {
          pools: [{ pool: poolOf('default'), instanceTypes: types }],
          nodes: [nodeOf('n')],
        },
      }),
      { existing: [2], fresh: [1], price: 100 },
    ],
    [
      'opens the cheapest nodes',
      composed(podsOf('p', 5, asking(2, 1))),
      { fresh: [2, 2, 1], price: 400 },
    ],
    [
      'has pods that follow others join their nodes in the end',
      composed([
        podOf('follower', follower),
        podOf('db', { ...asking(1, 1), labels: { app: 'db' } }),
      ]),
      { fresh: [2], price: 100 },
    ],
  ])('%s', (_, made, expected) => expect(made).toMatchObject({ ...nothing, ...expected }));
});

describe('a plan for which packing is not enough', () => {
  test('places pods first that others left out, if more pods find a place then', () => {
    const zoneKey = 'topology.kubernetes.io/zone';
    const room = { cpu: 1000, memory: gibibytes(4), pods: 10 };
    const nodes = ['a', 'b'].map((zone) =>
      nodeOf(zone, { capacity: room, allocatable: room, labels: { [zoneKey]: zone } }),
    );
    const apart = {
      ...asking(0.1, 1),
      requiredPodAntiAffinity: [
        { topologyKey: zoneKey, selector: selecting({ app: 'large' }), namespaces: [] },
      ],
    };
    const pods = [
      ...podsOf('large', 3, { ...asking(0.5, 1), labels: { app: 'large' } }),
      ...podsOf('small', 2, apart),
    ];
    expect(composed(pods, { snapshot: { nodes, pools: [] } })).toMatchObject({
      existing: [2, 2],
      left: 1,
    });
  });

  test('keeps many types possible where the pool demands it, and opens more nodes for it', () => {
    const requirements = [
      {
        key: 'node.kubernetes.io/instance-type',
        operator: 'Exists' as const,
        values: [],
        minValues: 2,
      },
    ];
    expect(composed(podsOf('p', 2, asking(2, 1)), inPool({ requirements }))).toMatchObject({
      fresh: [1, 1],
      left: 0,
      price: 200,
    });
  });

  test('uses a reservation as far as it goes, without a step of search', () => {
    const reserved = typeOf({
      name: 'r.4',
      cpuMillis: 4000,
      memoryBytes: gibibytes(16),
      offerings: [offeringOf('zone-a', 'reserved', 1, { reservation: { id: 'cr', remaining: 1 } })],
    });
    const snapshot = { pools: [{ pool: poolOf('default'), instanceTypes: [reserved, ...types] }] };
    const pods = podsOf('p', 2, asking(4, 1));
    const options = { stepsMax: 50 };
    expect(composed(pods, { snapshot, options })).toMatchObject({ fresh: [1], left: 1, steps: 0 });
    expect(
      composed(pods, { snapshot, options: { ...options, reservedOfferings: 'Fallback' } }),
    ).toMatchObject({ fresh: [1, 1], left: 0, price: 151, steps: 0 });
  });
});

describe('joining nodes for the rule of fewest nodes', () => {
  // Two small nodes cost less than the large one, by less than 1 %, and have more room together.
  const pair = typesBy([2, 8, 1000], [3.2, 16, 2010]);
  const db = podsOf('db', 140, { ...asking(1.5, 1), labels: { app: 'db' } });
  const follower: Partial<Pod> = {
    ...asking(0.4, 1),
    requiredPodAffinity: [
      { topologyKey: 'kubernetes.io/hostname', selector: selecting({ app: 'db' }), namespaces: [] },
    ],
  };
  const composedWithin = (fewerNodesPermille: number, pods: readonly Pod[]) =>
    composed(pods, {
      snapshot: { pools: [{ pool: poolOf('default'), instanceTypes: pair }] },
      options: { fewerNodesPermille },
    });

  test('halves the nodes of pods that others do not follow', () =>
    expect(composedWithin(10, db)).toMatchObject({ left: 0, price: 70 * 2010 }));

  test('leaves room for pods that follow others onto a node', () => {
    const pods = [...db, ...podsOf('follower', 140, follower)];
    const expected = { left: 0, price: 140 * 1000 };
    expect(composedWithin(0, pods)).toMatchObject(expected);
    expect(composedWithin(10, pods)).toMatchObject(expected);
  });
});

describe('in any world', () => {
  const anySeed = fc.integer({ min: 1, max: 10_000 });

  test('each pod is on a node or left over, and no node or ledger holds more than it may', () =>
    fc.assert(
      fc.property(anySeed, (seed) => {
        const { snapshot, pods, options } = mixedWorld(seed);
        const { engine, left } = compose(worldOf(snapshot, pods, options));
        const placed = [...engine.existing, ...engine.fresh].flatMap(({ contents }) => [
          ...contents.values(),
        ]);
        expect(sum(placed) + sum(left)).toBe(pods.length);
        expect(left.every((count) => count >= 0)).toBe(true);
        assertLedgersHold(engine);
      }),
      { numRuns: 25 },
    ));

  test('a small plan leaves no more pods over than placing them one by one', () =>
    fc.assert(
      fc.property(anySeed, (seed) => {
        const { snapshot, pods, options } = mixedWorld(seed);
        const one = compose(worldOf(snapshot, pods, options));
        const other = buildInSequence(worldOf(snapshot, pods, options));
        expect(sum(one.left)).toBeLessThanOrEqual(sum(other.left));
      }),
      { numRuns: 25 },
    ));

  test('no more steps are done than are allowed, and where time is up only those of few nodes', () =>
    fc.assert(
      fc.property(workloadsOf('none', 'apart'), fc.nat({ max: 30 }), (workloads, stepsMax) => {
        const pods = workloadPods(workloads);
        const stepsOf = (options: Partial<PlanOptions>): number =>
          compose(worldFor(pods, { options: { stepsMax, ...options } })).steps;
        expect(stepsOf({})).toBeLessThanOrEqual(stepsMax);
        expect(stepsOf({ stepsMax: 200, shouldStop: () => true })).toBeLessThanOrEqual(100);
      }),
      { numRuns: 25 },
    ));
});

test('a plan of few nodes is improved a little though its time is over before it began', () => {
  // Five pods fit the larger node for less than three of the smaller, and six do not. The first
  // plan adds a small node to a large one, and three small nodes cost less.
  const spot = typesBy([2, 8, 293], [4, 16, 602]);
  const made = composed(podsOf('worker', 6, asking(0.7, 1)), {
    snapshot: { pools: [{ pool: poolOf('default'), instanceTypes: spot }] },
    options: { stepsMax: 500, shouldStop: () => true },
  });
  expect(made).toMatchObject({ fresh: [2, 2, 2], price: 879 });
});
