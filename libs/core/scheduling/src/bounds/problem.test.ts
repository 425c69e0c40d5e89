import type { Pod, TopologySpreadConstraint } from '@dovetail/core-kube-model';
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
import { worldOf } from '../world/world.js';
import { type BoundProblem, type HostRule, problemOf } from './problem.js';

const zoneKey = 'topology.kubernetes.io/zone';
const hostKey = 'kubernetes.io/hostname';
const pools: Snapshot['pools'] = [
  {
    pool: poolOf('default'),
    instanceTypes: [
      typeOf({
        name: 'm.4',
        cpuMillis: 4000,
        memoryBytes: gibibytes(16),
        offerings: ['a', 'b', 'c'].map((zone) => offeringOf(zone, 'on-demand', 100)),
      }),
    ],
  },
];
const problemFor = (
  pods: readonly Pod[],
  snapshot: Partial<Snapshot> = {},
  options: Partial<PlanOptions> = {},
): BoundProblem =>
  problemOf(
    worldOf(snapshotOf({ pools, ...snapshot }), pods, { ...defaultPlanOptions, ...options }),
  );

const spread = (
  topologyKey: string,
  over: Partial<TopologySpreadConstraint> = {},
): Partial<Pod> => ({
  labels: { app: 'web' },
  topologySpread: [
    {
      maxSkew: 1,
      topologyKey,
      whenUnsatisfiable: 'DoNotSchedule',
      selector: selecting({ app: 'web' }),
      nodeAffinityPolicy: 'Honor',
      nodeTaintsPolicy: 'Ignore',
      ...over,
    },
  ],
});
const apart = (topologyKey: string): Partial<Pod> => ({
  labels: { app: 'web' },
  requiredPodAntiAffinity: [{ topologyKey, selector: selecting({ app: 'web' }), namespaces: [] }],
});

describe('classes of a relaxation', () => {
  test('are one where pods differ in nothing that bounds read', () => {
    const pods = [...podsOf('a', 3, { labels: { app: 'a' } }), ...podsOf('b', 2)];
    expect(problemFor(pods).classes.map(({ count }) => count)).toEqual([5]);
  });

  test.each<[string, Partial<Pod>]>([
    ['requests', { requests: { cpu: 200 } }],
    ['places', { nodeSelector: { [zoneKey]: 'a' } }],
    ['hostname rules', apart(hostKey)],
  ])('are apart where pods differ in their %s', (_, over) => {
    const { classes } = problemFor([...podsOf('a', 3), ...podsOf('b', 2, over)]);
    expect(classes.map(({ count }) => count).sort()).toEqual([2, 3]);
  });

  test('leave out pods that no node could ever take', () => {
    const lost = podOf('lost', { volumes: [{ claimName: 'missing' }] });
    expect(problemFor([...podsOf('a', 3), lost]).classes.map(({ count }) => count)).toEqual([3]);
  });

  test('ask together for as much of each resource as there are pods', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            cpu: fc.integer({ min: 1, max: 64_000 }),
            memory: fc.integer({ min: 1, max: gibibytes(512) }),
            count: fc.integer({ min: 1, max: 9 }),
          }),
          { minLength: 1, maxLength: 6 },
        ),
        (asks) => {
          const pods = asks.flatMap(({ cpu, memory, count }, index) =>
            podsOf(`w${index}`, count, { requests: { cpu, memory } }),
          );
          const { classes, demand } = problemFor(pods);
          for (const amount of demand) expect(amount).toBeCloseTo(pods.length, 6);
          demand.forEach((amount, r) => {
            const sum = classes.reduce((all, one) => all + one.count * (one.requests[r] ?? 0), 0);
            expect(sum).toBeCloseTo(amount, 6);
          });
        },
      ),
      { seed: 1, numRuns: 50 },
    );
  });

  test('and nodes are measured by the same scale', () => {
    const { classes, buyable, demand } = problemFor(podsOf('a', 8, { requests: { cpu: 1000 } }));
    const cpu = demand.findIndex((_, r) => (buyable[0]?.room[r] ?? 0) === 4);
    expect(classes[0]?.requests[cpu]).toBe(1);
  });
});

/** The limits of a rule for 1, 3 and 5 new nodes. */
const saidBy = (rule: HostRule | undefined): unknown =>
  rule && {
    mostEver: rule.mostEver,
    most: [1, 3, 5].map((nodes) => rule.most(nodes)),
    least: [1, 3, 5].map((nodes) => rule.least(nodes)),
  };
const silent = { mostEver: Infinity, most: [Infinity, Infinity, Infinity], least: [0, 0, 0] };

describe('what a hostname rule says of each new node, of ten pods', () => {
  test.each<[string, Partial<Pod>, unknown]>([
    ['anti-affinity', apart(hostKey), { mostEver: 1, most: [1, 1, 1], least: [0, 0, 0] }],
    ['spread', spread(hostKey), { mostEver: Infinity, most: [11, 4, 3], least: [9, 3, 1] }],
    [
      'spread with a skew of 2',
      spread(hostKey, { maxSkew: 2 }),
      { mostEver: Infinity, most: [12, 5, 4], least: [8, 2, 0] },
    ],
    [
      'spread with minDomains, which demands nothing of a node',
      spread(hostKey, { minDomains: 2 }),
      { mostEver: Infinity, most: [11, 4, 3], least: [0, 0, 0] },
    ],
    [
      'spread that counts only some nodes',
      { ...spread(hostKey), nodeSelector: { [zoneKey]: 'a' } },
      silent,
    ],
    ['spread that regards taints', spread(hostKey, { nodeTaintsPolicy: 'Honor' }), silent],
  ])('%s', (_, over, expected) => {
    const { rules } = problemFor(podsOf('p', 10, over));
    expect(rules.map(saidBy)).toEqual([expected]);
  });

  test('strict spread: maxSkew, however many nodes', () => {
    const one = problemFor(podsOf('p', 10, spread(hostKey)), {}, { hostnameSpread: 'strict' });
    expect(one.rules.map(saidBy)).toEqual([{ mostEver: 1, most: [1, 1, 1], least: [0, 0, 0] }]);
    expect(one.balanced).toBe(false);
  });

  test('spread beside a node that exists and two pods that run there', () => {
    const running = podsOf('run', 2, { labels: { app: 'web' }, phase: 'Running' });
    const { rules } = problemFor(podsOf('p', 10, spread(hostKey)), {
      nodes: [nodeOf('n', { pods: running })],
    });
    expect(rules.map(saidBy)).toEqual([{ mostEver: Infinity, most: [13, 5, 3], least: [4, 2, 1] }]);
  });

  test.each<[string, Partial<Pod>]>([
    ['that may be given up', spread(hostKey, { whenUnsatisfiable: 'ScheduleAnyway' })],
    ['over zones', spread(zoneKey)],
  ])('no rule for spread %s', (_, over) => {
    const { rules, balanced } = problemFor(podsOf('p', 10, over));
    expect([rules, balanced]).toEqual([[], false]);
  });

  test('pods that are merely selected are counted, and not limited', () => {
    const { classes } = problemFor([
      ...podsOf('carrier', 2, apart(hostKey)),
      ...podsOf('selected', 3, { labels: { app: 'web' } }),
      ...podsOf('other', 4),
    ]);
    const shown = classes.map(({ count, countedBy, limitedBy }) => [count, countedBy, limitedBy]);
    expect(shown.sort()).toEqual([
      [2, [0], [0]],
      [3, [0], []],
      [4, [], []],
    ]);
  });
});

describe('new nodes that rules over zones demand', () => {
  test.each<[string, readonly Pod[], Partial<Snapshot>, number]>([
    ['none without rules', podsOf('p', 9), {}, 0],
    ['one for each pod of an anti-affinity', podsOf('p', 2, apart(zoneKey)), {}, 2],
    ['one for each of two spread pods', podsOf('p', 2, spread(zoneKey)), {}, 2],
    ['one in every zone, not more', podsOf('p', 9, spread(zoneKey)), {}, 3],
    ['half as many with a skew of 2', podsOf('p', 4, spread(zoneKey, { maxSkew: 2 })), {}, 2],
    ['none for a hostname', podsOf('p', 9, spread(hostKey)), {}, 0],
    ['none where a node exists', podsOf('p', 9, spread(zoneKey)), { nodes: [nodeOf('n')] }, 0],
  ])('%s', (_, pods, snapshot, nodes) => {
    expect(problemFor(pods, snapshot).nodesMin).toBe(nodes);
  });
});
