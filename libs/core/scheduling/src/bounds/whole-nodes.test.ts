import { highsSolver } from '@dovetail/adapter-highs';
import { at } from '@dovetail/core-invariant';
import type { Pod } from '@dovetail/core-kube-model';
import { afterAll, describe, expect, test } from 'vitest';

import {
  checkPlan,
  defaultPlanOptions,
  type NewNode,
  type Plan,
  plan,
  type PlanOptions,
  type Snapshot,
} from '../index.js';
import {
  daemonSetOf,
  gibibytes,
  mebibytes,
  offeringOf,
  podOf,
  poolOf,
  selecting,
  snapshotOf,
  typeOf,
} from '../testing/objects.js';
import { Random } from '../testing/random.js';
import { mixedWorld } from '../testing/worlds.js';
import { worldOf } from '../world/world.js';
import { wholeNodesBound } from './whole-nodes.js';

const lp = highsSolver();
afterAll(() => lp.close());

const zoneKey = 'topology.kubernetes.io/zone';
const hostKey = 'kubernetes.io/hostname';
const zones = ['zone-a', 'zone-b', 'zone-c'] as const;

const spread = (app: string, maxSkew: number): Partial<Pod> => ({
  labels: { app },
  topologySpread: [
    {
      maxSkew,
      topologyKey: zoneKey,
      whenUnsatisfiable: 'DoNotSchedule',
      selector: selecting({ app }),
      nodeAffinityPolicy: 'Honor',
      nodeTaintsPolicy: 'Ignore',
    },
  ],
});
const apart = (app: string, topologyKey: string): Partial<Pod> => ({
  labels: { app },
  requiredPodAntiAffinity: [{ topologyKey, selector: selecting({ app }), namespaces: [] }],
});

// Zones differ in price, so that the cheapest plan is no plan for one zone only.
const types = [1, 2, 4].map((cores) =>
  typeOf({
    name: `t${cores}`,
    cpuMillis: cores * 1000,
    memoryBytes: gibibytes(cores * 4),
    pods: 20,
    offerings: zones.map((zone, index) =>
      offeringOf(zone, 'on-demand', (10_000 + cores * 30_000) * (1 + index / 10)),
    ),
  }),
);
const snapshotFor = (): Snapshot =>
  snapshotOf({
    pools: [{ pool: poolOf('default'), instanceTypes: types }],
    daemonSets: [daemonSetOf('agent', { requests: { cpu: 100, memory: mebibytes(100) } })],
  });

const boundOf = async (
  snapshot: Snapshot,
  pods: readonly Pod[],
  options: PlanOptions = defaultPlanOptions,
): Promise<number> =>
  Math.round(await wholeNodesBound(worldOf(snapshot, pods, options), lp, { timeMsMax: 30_000 }));

function* partitions<T>(items: readonly T[]): Generator<T[][]> {
  const [first, ...rest] = items;
  if (first === undefined) {
    yield [];
    return;
  }
  for (const parts of partitions(rest)) {
    yield [[first], ...parts];
    for (let index = 0; index < parts.length; index += 1)
      yield parts.map((part, other) => (other === index ? [first, ...part] : part));
  }
}

/** The cheapest node of a zone for a set of pods, daemonset included. */
function nodeFor(pods: readonly Pod[], zone: string, index: number): NewNode | undefined {
  const cpu = pods.reduce((sum, pod) => sum + (pod.requests['cpu'] ?? 0), 100);
  const memory = pods.reduce((sum, pod) => sum + (pod.requests['memory'] ?? 0), mebibytes(100));
  const type = types.find(
    (one) => cpu <= (one.allocatable['cpu'] ?? 0) && memory <= (one.allocatable['memory'] ?? 0),
  );
  const offering = type?.offerings.find((one) => one.zone === zone);
  if (type === undefined || offering === undefined) return undefined;
  const { priceMicrosPerHour } = offering;
  return {
    id: `bin-${index}`,
    pool: { kind: 'NodePool', name: 'default' },
    requirements: [{ key: zoneKey, operator: 'In', values: [zone] }],
    labels: {},
    taints: [],
    requests: {},
    podUids: pods.map((pod) => pod.uid),
    topologyGroups: [],
    minValuesRelaxed: false,
    notes: [],
    options: [{ instanceType: type.name, zone, capacityType: 'on-demand', priceMicrosPerHour }],
  };
}

/** Every way to put so many nodes into zones. */
function* placings(nodes: number): Generator<readonly string[]> {
  for (let code = 0; code < zones.length ** nodes; code += 1)
    yield Array.from({ length: nodes }, (_, index) =>
      at(zones, Math.floor(code / zones.length ** index) % zones.length),
    );
}

/**
 * Whether spreads hold over all zones that the pool offers, empty ones included, as the planner has
 * it. The checker knows only the zones that have nodes.
 */
function isSpreadOverAll(pods: readonly Pod[], newNodes: readonly NewNode[]): boolean {
  const zoneOf = new Map(
    newNodes.flatMap((node) => node.podUids.map((uid) => [uid, at(node.options, 0).zone] as const)),
  );
  return pods.every((pod) =>
    pod.topologySpread.every(({ maxSkew }) => {
      const mates = pods.filter((one) => one.labels['app'] === pod.labels['app']);
      const inZones = (those: readonly Pod[]): readonly number[] =>
        zones.map((zone) => those.filter((one) => zoneOf.get(one.uid) === zone).length);
      const carriers = mates.filter((one) => one.topologySpread.length > 0);
      return Math.max(...inZones(carriers)) - Math.min(...inZones(mates)) <= maxSkew;
    }),
  );
}

/** The least that any valid plan costs: tries every way to share nodes, in every zone. */
function optimum(snapshot: Snapshot, pods: readonly Pod[]): number {
  const base = plan(snapshot, pods, defaultPlanOptions);
  let best = Infinity;
  for (const parts of partitions(pods))
    for (const places of placings(parts.length)) {
      const newNodes = parts.flatMap(
        (part, index) => nodeFor(part, at(places, index), index) ?? [],
      );
      const price = newNodes.reduce((sum, node) => sum + at(node.options, 0).priceMicrosPerHour, 0);
      if (newNodes.length < parts.length || price >= best) continue;
      if (!isSpreadOverAll(pods, newNodes)) continue;
      const bound = { kind: 'none', priceMicrosPerHour: 0 } as const;
      const made: Plan = {
        ...base,
        newNodes,
        placements: [],
        unplaced: [],
        priceMicrosPerHour: price,
        bound,
      };
      if (checkPlan(snapshot, pods, made, defaultPlanOptions).length === 0) best = price;
    }
  return best;
}

function fewPods(random: Random): readonly Pod[] {
  const rules = [{}, spread('a', 1), spread('b', 2), apart('a', hostKey), apart('c', zoneKey)];
  const mine = [random.pick(rules), random.pick(rules)];
  return Array.from({ length: 3 + random.below(3) }, (_, index) =>
    podOf(`p${index}`, {
      requests: {
        cpu: random.pick([300, 900, 1500]),
        memory: mebibytes(random.pick([200, 3000])),
        pods: 1,
      },
      ...at(mine, index % 2),
    }),
  );
}

describe('the price of whole nodes', () => {
  test('is what the cheapest of all valid plans costs, in small worlds with zones', async () => {
    const snapshot = snapshotFor();
    for (let seed = 1; seed <= 40; seed += 1) {
      const pods = fewPods(new Random(seed));
      const least = optimum(snapshot, pods);
      if (least === Infinity) continue;
      const bound = await boundOf(snapshot, pods);
      expect({ seed, above: bound > least }).toEqual({ seed, above: false });
      expect({ seed, bound }).toEqual({ seed, bound: least });
    }
  });

  test('is never above the price of a plan, in mixed worlds with nodes and pools', async () => {
    let said = 0;
    for (let seed = 1; seed <= 20; seed += 1) {
      const { snapshot, pods } = mixedWorld(seed);
      for (const hostnameSpread of ['balanced', 'strict'] as const) {
        const options = { ...defaultPlanOptions, hostnameSpread };
        const made = plan(snapshot, pods, { ...options, stepsMax: 50 });
        const left = new Set(made.unplaced.map(({ podUid }) => podUid));
        const placed = pods.filter((pod) => !left.has(pod.uid));
        const bound = await boundOf(snapshot, placed, options);
        if (bound > 0) said += 1;
        expect({ seed, above: bound > made.priceMicrosPerHour }).toEqual({ seed, above: false });
      }
    }
    expect(said).toBeGreaterThan(10);
  });

  test('is left unsaid for more than a hundred pods', async () => {
    const pods = Array.from({ length: 101 }, (_, index) =>
      podOf(`p${index}`, { requests: { cpu: 100, memory: mebibytes(100), pods: 1 } }),
    );
    expect(await boundOf(snapshotFor(), pods.slice(1))).toBeGreaterThan(0);
    expect(await boundOf(snapshotFor(), pods)).toBe(0);
  });

  test('counts a host port once on each node', async () => {
    const pods = Array.from({ length: 3 }, (_, index) =>
      podOf(`p${index}`, {
        requests: { cpu: 100, memory: mebibytes(100), pods: 1 },
        hostPorts: [{ ip: '0.0.0.0', port: 80, protocol: 'TCP' }],
      }),
    );
    expect(await boundOf(snapshotFor(), pods)).toBe(3 * 40_000);
  });
});
