import { highsSolver } from '@dovetail/adapter-highs';
import type { Pod } from '@dovetail/core-kube-model';
import { afterAll, describe, expect, test } from 'vitest';

import {
  boundsOf,
  checkPlan,
  defaultPlanOptions,
  type NewNode,
  type Plan,
  plan,
  type PlanOptions,
  type Snapshot,
  tightBound,
} from '../index.js';
import {
  daemonSetOf,
  gibibytes,
  mebibytes,
  offeringOf,
  podOf,
  podsOf,
  poolOf,
  selecting,
  snapshotOf,
  typeOf,
} from '../testing/objects.js';
import { Random } from '../testing/random.js';
import { mixedWorld } from '../testing/worlds.js';

const lp = highsSolver();
afterAll(() => lp.close());
// Counted steps give the same bounds on any machine.
const limits = { programMsMax: Infinity, stepsMax: 4_000, rangesMax: 9 };
const hostKey = 'kubernetes.io/hostname';
const spread = (app: string, maxSkew: number): Partial<Pod> => ({
  labels: { app },
  topologySpread: [
    {
      maxSkew,
      topologyKey: hostKey,
      whenUnsatisfiable: 'DoNotSchedule',
      selector: selecting({ app }),
      nodeAffinityPolicy: 'Honor',
      nodeTaintsPolicy: 'Ignore',
    },
  ],
});
const apart = (app: string): Partial<Pod> => ({
  labels: { app },
  requiredPodAntiAffinity: [{ topologyKey: hostKey, selector: selecting({ app }), namespaces: [] }],
});

const types = [1, 2, 4, 8].flatMap((cores) =>
  [2, 8].map((ratio) =>
    typeOf({
      name: `t${cores}x${ratio}`,
      cpuMillis: cores * 1000,
      memoryBytes: gibibytes(cores * ratio),
      pods: 20,
      offerings: [offeringOf('zone-a', 'on-demand', 1e6 * (0.01 + cores * (0.03 + 0.004 * ratio)))],
    }),
  ),
);
const world = (
  pods: readonly Pod[],
): { readonly snapshot: Snapshot; readonly pods: readonly Pod[] } => ({
  pods,
  snapshot: snapshotOf({
    pools: [{ pool: poolOf('default'), instanceTypes: types }],
    daemonSets: [daemonSetOf('agent', { requests: { cpu: 100, memory: mebibytes(100) } })],
  }),
});

function* partitions<T>(items: readonly T[]): Generator<T[][]> {
  const [first, ...rest] = items;
  if (first === undefined) {
    yield [];
    return;
  }
  for (const parts of partitions(rest)) {
    yield [[first], ...parts];
    for (let at = 0; at < parts.length; at += 1)
      yield parts.map((part, index) => (index === at ? [first, ...part] : part));
  }
}

/** The cheapest node for a set of pods, daemonset included. */
function nodeFor(pods: readonly Pod[], index: number): NewNode | undefined {
  const cpu = pods.reduce((sum, pod) => sum + (pod.requests['cpu'] ?? 0), 100);
  const memory = pods.reduce((sum, pod) => sum + (pod.requests['memory'] ?? 0), mebibytes(100));
  const [type] = types
    .filter(
      (one) => cpu <= (one.allocatable['cpu'] ?? 0) && memory <= (one.allocatable['memory'] ?? 0),
    )
    .sort(
      (a, b) =>
        (a.offerings[0]?.priceMicrosPerHour ?? 0) - (b.offerings[0]?.priceMicrosPerHour ?? 0),
    );
  if (type === undefined) return undefined;
  return {
    id: `bin-${index}`,
    pool: { kind: 'NodePool', name: 'default' },
    requirements: [],
    labels: {},
    taints: [],
    requests: {},
    podUids: pods.map((pod) => pod.uid),
    topologyGroups: [],
    minValuesRelaxed: false,
    notes: [],
    options: [
      {
        instanceType: type.name,
        zone: 'zone-a',
        capacityType: 'on-demand',
        priceMicrosPerHour: type.offerings[0]?.priceMicrosPerHour ?? 0,
      },
    ],
  };
}

/** The least that any plan costs which the checker accepts, by trying every way to share nodes. */
function optimum(snapshot: Snapshot, pods: readonly Pod[], options: PlanOptions): number {
  let best = Infinity;
  const base = plan(snapshot, pods, options);
  for (const parts of partitions(pods)) {
    const newNodes = parts.map(nodeFor);
    if (newNodes.some((node) => node === undefined)) continue;
    const price = newNodes.reduce(
      (sum, node) => sum + (node?.options[0]?.priceMicrosPerHour ?? 0),
      0,
    );
    if (price >= best) continue;
    const made: Plan = {
      ...base,
      newNodes: newNodes as NewNode[],
      placements: [],
      unplaced: [],
      priceMicrosPerHour: price,
      bound: { kind: 'none', priceMicrosPerHour: 0 },
    };
    if (checkPlan(snapshot, pods, made, options).length === 0) best = price;
  }
  return best;
}

function fewPods(random: Random): readonly Pod[] {
  const rules = [{}, spread('a', 1), spread('b', 2), apart('a'), apart('c')];
  return Array.from({ length: 3 + random.below(4) }, (_, index) =>
    podOf(`p${index}`, {
      ...random.pick(rules),
      requests: {
        cpu: random.pick([300, 900, 1500, 2600]),
        memory: mebibytes(random.pick([200, 1500, 6000])),
        pods: 1,
      },
    }),
  );
}

describe('no plan beats a bound', () => {
  test('in thirty generated worlds', async () => {
    for (let seed = 1; seed <= 30; seed += 1) {
      const { snapshot, pods, options } = mixedWorld(seed);
      const made = plan(snapshot, pods, options);
      const left = new Set(made.unplaced.map((one) => one.podUid));
      const bounds = await boundsOf(
        snapshot,
        pods.filter((pod) => !left.has(pod.uid)),
        options,
        lp,
        limits,
      );
      for (const [kind, bound] of Object.entries(bounds))
        expect({ seed, kind, beaten: made.priceMicrosPerHour < bound }).toEqual({
          seed,
          kind,
          beaten: false,
        });
    }
  });

  test.each(['balanced', 'strict'] as const)(
    'not even the best of all plans of a few pods, with %s hostname spread',
    async (hostnameSpread) => {
      const random = new Random(7);
      const options = { ...defaultPlanOptions, hostnameSpread };
      for (let round = 0; round < 25; round += 1) {
        const { snapshot, pods } = world(fewPods(random));
        const best = optimum(snapshot, pods, options);
        expect(best).toBeLessThan(Infinity);
        for (const [kind, bound] of Object.entries(
          await boundsOf(snapshot, pods, options, lp, limits),
        ))
          expect({ round, kind, best, excess: Math.max(0, bound - best) }).toEqual({
            round,
            kind,
            best,
            excess: 0,
          });
      }
    },
  );
});

describe('what each bound knows', () => {
  const small = { cpu: 100, memory: mebibytes(100), pods: 1 };

  test('anti-affinity by hostname wants as many nodes as pods', async () => {
    const { snapshot, pods } = world(podsOf('p', 12, { ...apart('a'), requests: small }));
    const bounds = await boundsOf(snapshot, pods, defaultPlanOptions, lp, limits);
    const cheapest = Math.min(...types.map((type) => type.offerings[0]?.priceMicrosPerHour ?? 0));
    expect(bounds['integer-aggregate']).toBeGreaterThan(12 * cheapest * 0.999);
    expect(bounds.spread).toBeGreaterThan(12 * cheapest * 0.999);
    expect(bounds['assignment-lp']).toBeLessThan(4 * cheapest);
  });

  test.each([
    [1, 3],
    [2, 3],
    [3, 2],
    [6, 1],
  ])(
    'a spread over three zones with maxSkew %i wants %i nodes for six pods',
    async (maxSkew, nodes) => {
      const zoned = types.map((type) => ({
        ...type,
        offerings: ['zone-a', 'zone-b', 'zone-c'].map((zone) => ({
          ...(type.offerings[0] ?? offeringOf(zone, 'on-demand', 0)),
          zone,
        })),
        requirements: new Map([
          ...type.requirements,
          [
            'topology.kubernetes.io/zone',
            { kind: 'in' as const, values: new Set(['zone-a', 'zone-b', 'zone-c']), present: true },
          ],
        ]),
      }));
      const pods = podsOf('p', 6, {
        labels: { app: 'a' },
        requests: small,
        topologySpread: [
          {
            maxSkew,
            topologyKey: 'topology.kubernetes.io/zone',
            whenUnsatisfiable: 'DoNotSchedule',
            selector: selecting({ app: 'a' }),
            nodeAffinityPolicy: 'Honor',
            nodeTaintsPolicy: 'Ignore',
          },
        ],
      });
      const snapshot = snapshotOf({ pools: [{ pool: poolOf('default'), instanceTypes: zoned }] });
      const bounds = await boundsOf(snapshot, pods, defaultPlanOptions, lp, limits);
      const cheapest = Math.min(...types.map((type) => type.offerings[0]?.priceMicrosPerHour ?? 0));
      expect(Math.round(bounds['integer-aggregate'] / cheapest)).toBe(nodes);
      expect(plan(snapshot, pods, defaultPlanOptions).priceMicrosPerHour).toBeGreaterThanOrEqual(
        bounds['integer-aggregate'],
      );
    },
  );

  test('a class that may use dear types only is priced by the assignment, not by the aggregate', async () => {
    const { snapshot, pods } = world(
      podsOf('p', 40, {
        requests: { cpu: 1000, memory: gibibytes(1), pods: 1 },
        nodeSelector: { 'node.kubernetes.io/instance-type': 't2x8' },
      }),
    );
    const bounds = await boundsOf(
      snapshot,
      [...pods, ...podsOf('q', 40, { requests: { cpu: 1000, memory: gibibytes(1), pods: 1 } })],
      defaultPlanOptions,
      lp,
      limits,
    );
    expect(bounds['assignment-lp']).toBeGreaterThan(bounds['aggregate-lp'] * 1.05);
  });

  test('whole nodes cost more than fractions of them', async () => {
    const { snapshot, pods } = world(podsOf('p', 1, { requests: small }));
    const bounds = await boundsOf(snapshot, pods, defaultPlanOptions, lp, limits);
    expect(bounds['integer-aggregate']).toBeGreaterThan(bounds['aggregate-lp'] * 3);
    expect(await tightBound(snapshot, pods, defaultPlanOptions, lp, limits)).toEqual({
      kind: 'integer-aggregate',
      priceMicrosPerHour: bounds['integer-aggregate'],
    });
  });

  test('no pods, no bound', async () => {
    const { snapshot } = world([]);
    expect(await tightBound(snapshot, [], defaultPlanOptions, lp, limits)).toEqual({
      kind: 'none',
      priceMicrosPerHour: 0,
    });
  });
});
