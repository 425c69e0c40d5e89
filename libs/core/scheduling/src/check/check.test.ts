import type { Pod, PodAffinityTerm, TopologySpreadConstraint } from '@dovetail/core-kube-model';
import { describe, expect, test } from '@jest/globals';

import {
  type BinOption,
  checkBin,
  checkPlan,
  defaultPlanOptions,
  type NewNode,
  type Placement,
  type Plan,
  type PlanOptions,
  type Snapshot,
  type Violation,
} from '../index.js';
import {
  daemonSetOf,
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

// Plans written by hand, each wrong in one thing: the checker names that thing and nothing else.

const typeKey = 'node.kubernetes.io/instance-type';
const zoneKey = 'topology.kubernetes.io/zone';
const hostKey = 'kubernetes.io/hostname';
const types = [2, 4].map((cores) =>
  typeOf({
    name: `m.${cores}`,
    cpuMillis: cores * 1000,
    memoryBytes: gibibytes(cores * 4),
    pods: 10,
    offerings: ['a', 'b', 'c'].map((zone) => offeringOf(zone, 'on-demand', cores * 100)),
  }),
);
const option = (instanceType: string, zone: string, over: Partial<BinOption> = {}): BinOption => ({
  instanceType,
  zone,
  capacityType: 'on-demand',
  priceMicrosPerHour: instanceType === 'm.4' ? 400 : 200,
  ...over,
});
const bin = (id: string, podUids: readonly string[], over: Partial<NewNode> = {}): NewNode => ({
  id,
  pool: { kind: 'NodePool', name: 'default' },
  options: [option('m.2', 'a')],
  requirements: [],
  labels: {},
  taints: [],
  requests: {},
  podUids,
  topologyGroups: [],
  minValuesRelaxed: false,
  notes: [],
  ...over,
});
const placement = (nodeName: string, podUids: readonly string[]): Placement => ({
  nodeName,
  nodeUid: `node-${nodeName}`,
  podUids,
  topologyGroups: [],
});

type Made = {
  readonly pods: readonly Pod[];
  readonly newNodes?: readonly NewNode[];
  readonly placements?: readonly Placement[];
  readonly snapshot?: Partial<Snapshot>;
  readonly plan?: Partial<Plan>;
  readonly options?: Partial<PlanOptions>;
};
const worldOf = (made: Made): Snapshot =>
  snapshotOf({ pools: [{ pool: poolOf('default'), instanceTypes: types }], ...made.snapshot });

function violationsOf(made: Made): readonly Violation[] {
  const newNodes = made.newNodes ?? [];
  const plan: Plan = {
    stateSequence: 1,
    catalogRevision: 'r',
    admissionHead: '',
    seed: 1,
    steps: 0,
    newNodes,
    placements: made.placements ?? [],
    unplaced: [],
    priceMicrosPerHour: newNodes.reduce(
      (sum, one) => sum + Math.min(...one.options.map((each) => each.priceMicrosPerHour)),
      0,
    ),
    bound: { kind: 'none', priceMicrosPerHour: 0 },
    stats: { pods: made.pods.length, classes: 1, instanceTypes: 2 },
    ...made.plan,
  };
  return checkPlan(worldOf(made), made.pods, plan, { ...defaultPlanOptions, ...made.options });
}
const found = (made: Made): readonly string[] => [
  ...new Set(violationsOf(made).map((one) => `${one.code} at ${one.where}`)),
];

const pods = (count: number, over: Partial<Pod> = {}): readonly Pod[] =>
  podsOf('p', count, { labels: { app: 'web' }, ...over });
const cores = (count: number) => ({ cpu: count * 1000, memory: 1, pods: 1 });
const spread = (
  topologyKey: string,
  over: Partial<TopologySpreadConstraint> = {},
): TopologySpreadConstraint => ({
  maxSkew: 1,
  topologyKey,
  whenUnsatisfiable: 'DoNotSchedule',
  selector: selecting({ app: 'web' }),
  nodeAffinityPolicy: 'Honor',
  nodeTaintsPolicy: 'Ignore',
  ...over,
});
const term = (topologyKey: string, app = 'web'): PodAffinityTerm => ({
  topologyKey,
  selector: selecting({ app }),
  namespaces: [],
});
const inZone = (zone: string) => ({ options: [option('m.2', zone)] });
const port = { ip: '', port: 80, protocol: 'TCP' as const };
const withPool = (over: Parameters<typeof poolOf>[1]): Partial<Snapshot> => ({
  pools: [{ pool: poolOf('default', over), instanceTypes: types }],
});

test('a plan that keeps every rule is left alone', () =>
  expect(
    found({
      pods: pods(3),
      newNodes: [bin('b', ['p-0', 'p-1'])],
      placements: [placement('n', ['p-2'])],
      snapshot: { nodes: [nodeOf('n')] },
    }),
  ).toEqual([]));

describe('each pod once', () => {
  test.each<[string, Made, readonly string[]]>([
    [
      'a pod that is forgotten',
      { pods: pods(2), newNodes: [bin('b', ['p-0'])] },
      ['missing-pod at p-1'],
    ],
    [
      'a pod that nobody asked for',
      { pods: pods(1), newNodes: [bin('b', ['p-0', 'x'])] },
      ['unknown-pod at x'],
    ],
    [
      'a pod in two places',
      { pods: pods(1), newNodes: [bin('b', ['p-0']), bin('c', ['p-0'])] },
      ['double-placement at p-0'],
    ],
    [
      'a pod left out without a reason',
      { pods: pods(1), plan: { unplaced: [{ podUid: 'p-0', reasons: [] }] } },
      ['missing-pod at p-0'],
    ],
    ['a node for nobody', { pods: [], newNodes: [bin('b', [])] }, ['missing-pod at b']],
  ])('%s', (_, made, expected) => expect(found(made)).toEqual(expected));
});

describe('money', () => {
  test.each<[string, Made, readonly string[]]>([
    [
      'a sum that is wrong',
      { pods: pods(1), newNodes: [bin('b', ['p-0'])], plan: { priceMicrosPerHour: 1 } },
      ['wrong-price at plan'],
    ],
    [
      'a bound above the price',
      {
        pods: pods(1),
        newNodes: [bin('b', ['p-0'])],
        plan: { bound: { kind: 'spread', priceMicrosPerHour: 201 } },
      },
      ['wrong-price at plan'],
    ],
    [
      'an option of another price',
      {
        pods: pods(1),
        newNodes: [
          bin('b', ['p-0'], { options: [option('m.2', 'a', { priceMicrosPerHour: 150 })] }),
        ],
      },
      ['wrong-price at b'],
    ],
    [
      'options that are not sorted',
      {
        pods: pods(1),
        newNodes: [bin('b', ['p-0'], { options: [option('m.4', 'a'), option('m.2', 'a')] })],
      },
      ['wrong-price at b'],
    ],
    [
      'a price above the cap',
      {
        pods: pods(1),
        newNodes: [bin('b', ['p-0'])],
        snapshot: withPool({ maxPriceMicrosPerHour: 199 }),
      },
      ['price-cap at b'],
    ],
  ])('%s', (_, made, expected) => expect(found(made)).toEqual(expected));
});

describe('what one node holds', () => {
  const running = podsOf('run', 4, { phase: 'Running', requests: cores(1) });
  test.each<[string, Made, readonly string[]]>([
    [
      'more than an option has, be it the last',
      {
        pods: pods(3, { requests: cores(1) }),
        newNodes: [
          bin('b', ['p-0', 'p-1', 'p-2'], { options: [option('m.2', 'a'), option('m.4', 'a')] }),
        ],
      },
      ['resources-too-large at b'],
    ],
    [
      'more than is left beside daemonsets',
      {
        pods: pods(2, { requests: cores(1) }),
        newNodes: [bin('b', ['p-0', 'p-1'])],
        snapshot: { daemonSets: [daemonSetOf('d')] },
      },
      ['resources-too-large at b'],
    ],
    [
      'more than an existing node has left',
      {
        pods: pods(1),
        placements: [placement('n', ['p-0'])],
        snapshot: { nodes: [nodeOf('n', { pods: running })] },
      },
      ['node-full at n'],
    ],
    [
      'a cordoned node',
      {
        pods: pods(1),
        placements: [placement('n', ['p-0'])],
        snapshot: { nodes: [nodeOf('n', { cordoned: true })] },
      },
      ['node-cordoned at n'],
    ],
    [
      'a node that does not exist',
      { pods: pods(1), placements: [placement('n', ['p-0'])] },
      ['unknown-node at n'],
    ],
    [
      'a taint',
      {
        pods: pods(1),
        newNodes: [bin('b', ['p-0'])],
        snapshot: withPool({ taints: [{ key: 'x', effect: 'NoSchedule' }] }),
      },
      ['taint-not-tolerated at b'],
    ],
    [
      'a selector that one of the options does not meet',
      {
        pods: pods(1, { nodeSelector: { [zoneKey]: 'a' } }),
        newNodes: [bin('b', ['p-0'], { options: [option('m.2', 'a'), option('m.2', 'b')] })],
      },
      ['requirement-mismatch at b'],
    ],
    [
      'an option outside the pool',
      {
        pods: pods(1),
        newNodes: [bin('b', ['p-0'])],
        snapshot: withPool({ requirements: [{ key: zoneKey, operator: 'In', values: ['b'] }] }),
      },
      ['requirement-mismatch at b'],
    ],
    [
      'an option outside the claim',
      {
        pods: pods(1),
        newNodes: [
          bin('b', ['p-0'], { requirements: [{ key: zoneKey, operator: 'In', values: ['b'] }] }),
        ],
      },
      ['requirement-mismatch at b'],
    ],
    [
      'a type that the pool does not have',
      { pods: pods(1), newNodes: [bin('b', ['p-0'], { options: [option('x.1', 'a')] })] },
      ['no-offering at b'],
    ],
    [
      'too many types',
      {
        pods: pods(1),
        newNodes: [bin('b', ['p-0'], { options: [option('m.2', 'a'), option('m.4', 'a')] })],
        options: { instanceTypesMax: 1 },
      },
      ['no-offering at b'],
    ],
    [
      'an offering without capacity',
      {
        pods: pods(1),
        newNodes: [bin('b', ['p-0'])],
        snapshot: {
          pools: [
            {
              pool: poolOf('default'),
              instanceTypes: types.map((type) => ({
                ...type,
                offerings: type.offerings.map((one) => ({ ...one, available: false })),
              })),
            },
          ],
        },
      },
      ['no-capacity at b'],
    ],
    [
      'a host port twice',
      { pods: pods(2, { hostPorts: [port] }), newNodes: [bin('b', ['p-0', 'p-1'])] },
      ['host-port at b'],
    ],
    [
      'a host port of a daemonset',
      {
        pods: pods(1, { hostPorts: [port] }),
        newNodes: [bin('b', ['p-0'])],
        snapshot: { daemonSets: [daemonSetOf('d', { hostPorts: [port] })] },
      },
      ['host-port at b'],
    ],
    [
      'a volume claim that is not there',
      { pods: pods(1, { volumes: [{ claimName: 'v' }] }), newNodes: [bin('b', ['p-0'])] },
      ['volume at b'],
    ],
    [
      'too few values for minValues',
      {
        pods: pods(1),
        newNodes: [bin('b', ['p-0'])],
        snapshot: withPool({
          requirements: [{ key: typeKey, operator: 'Exists', values: [], minValues: 2 }],
        }),
      },
      ['min-values at b'],
    ],
    [
      'a pool that is gone',
      { pods: pods(1), newNodes: [bin('b', ['p-0'], { pool: { kind: 'NodePool', name: 'x' } })] },
      ['no-pools at b'],
    ],
    [
      'a pool that is not ready',
      { pods: pods(1), newNodes: [bin('b', ['p-0'])], snapshot: withPool({ ready: false }) },
      ['pool-not-ready at b'],
    ],
    [
      'a static pool',
      { pods: pods(1), newNodes: [bin('b', ['p-0'])], snapshot: withPool({ replicas: 1 }) },
      ['pool-static at b'],
    ],
    [
      'a pool on its way out',
      { pods: pods(1), newNodes: [bin('b', ['p-0'])], snapshot: withPool({ deletionMs: 1 }) },
      ['pool-deleting at b'],
    ],
  ])('%s', (_, made, expected) => expect(found(made)).toEqual(expected));
});

describe('what nodes hold together', () => {
  const pinned = pods(3, { topologySpread: [spread(zoneKey)] });
  const waiting = pods(2, { requiredPodAffinity: [term(zoneKey)] });
  const lonely = pods(2, { requiredPodAntiAffinity: [term(zoneKey)] });
  const guard = podOf('guard', { phase: 'Running', requiredPodAntiAffinity: [term(zoneKey)] });
  test.each<[string, Made, readonly string[]]>([
    [
      'a zone with two pods more than another',
      { pods: pinned, newNodes: [bin('b', ['p-0', 'p-1', 'p-2']), bin('c', ['x'], inZone('b'))] },
      ['unknown-pod at x', 'topology-spread at b'],
    ],
    [
      'a spread over a zone that is still open',
      {
        pods: pinned.slice(0, 1),
        newNodes: [bin('b', ['p-0'], { options: [option('m.2', 'a'), option('m.2', 'b')] })],
      },
      ['topology-spread at b'],
    ],
    [
      'fewer zones than minDomains',
      {
        pods: pods(2, { topologySpread: [spread(zoneKey, { minDomains: 2 })] }),
        newNodes: [bin('b', ['p-0', 'p-1'])],
      },
      ['topology-spread at b'],
    ],
    [
      'a full node beside an empty one',
      {
        pods: pods(2, { topologySpread: [spread(hostKey)] }),
        newNodes: [bin('b', ['p-0', 'p-1'])],
        snapshot: { nodes: [nodeOf('n')] },
      },
      ['topology-spread at b'],
    ],
    [
      'two pods of a strict hostname spread',
      {
        pods: pods(2, { topologySpread: [spread(hostKey)] }),
        newNodes: [bin('b', ['p-0', 'p-1'])],
        options: { hostnameSpread: 'strict' },
      },
      ['topology-spread at b'],
    ],
    [
      'pods that want to be together in two zones',
      { pods: waiting, newNodes: [bin('b', ['p-0']), bin('c', ['p-1'], inZone('b'))] },
      ['pod-affinity at b', 'pod-affinity at c'],
    ],
    [
      'a pod without the one that it follows',
      {
        pods: pods(1, { requiredPodAffinity: [term(zoneKey, 'db')] }),
        newNodes: [bin('b', ['p-0'])],
      },
      ['pod-affinity at b'],
    ],
    [
      'pods that must part in one zone',
      { pods: lonely, newNodes: [bin('b', ['p-0']), bin('c', ['p-1'])] },
      ['pod-anti-affinity at c', 'pod-anti-affinity at b'],
    ],
    [
      'a pod beside a running one that must be alone',
      {
        pods: pods(1),
        newNodes: [bin('b', ['p-0'])],
        snapshot: { nodes: [nodeOf('n', { labels: { [zoneKey]: 'a' }, pods: [guard] })] },
      },
      ['pod-anti-affinity at b'],
    ],
    [
      'more than the limit, at the largest option',
      {
        pods: pods(1),
        newNodes: [bin('b', ['p-0'], { options: [option('m.2', 'a'), option('m.4', 'a')] })],
        snapshot: withPool({ limits: { cpu: 3000 } }),
      },
      ['pool-limit at NodePool/default'],
    ],
    [
      'one node too many',
      {
        pods: pods(2),
        newNodes: [bin('b', ['p-0']), bin('c', ['p-1'])],
        snapshot: withPool({ limits: { nodes: 1 } }),
      },
      ['pool-limit at NodePool/default'],
    ],
  ])('%s', (_, made, expected) => expect(found(made)).toEqual(expected));
  test('more nodes of a reservation than it has left', () => {
    const reserved = typeOf({
      name: 'm.2',
      cpuMillis: 2000,
      memoryBytes: gibibytes(8),
      offerings: [offeringOf('a', 'reserved', 0, { reservation: { id: 'cr', remaining: 1 } })],
    });
    const options = [
      option('m.2', 'a', { capacityType: 'reserved', priceMicrosPerHour: 0, reservationId: 'cr' }),
    ];
    expect(
      found({
        pods: pods(2),
        newNodes: [bin('b', ['p-0'], { options }), bin('c', ['p-1'], { options })],
        snapshot: { pools: [{ pool: poolOf('default'), instanceTypes: [reserved] }] },
      }),
    ).toEqual(['reserved-capacity at cr']);
  });
});

describe('one bin by itself', () => {
  const spreadOut = pods(2, { topologySpread: [spread(zoneKey)] });
  const bins = [bin('b', ['p-0']), bin('c', ['p-1'], inZone('b'))];
  const empty = nodeOf('n', { cordoned: true, labels: { [zoneKey]: 'c' } });
  const judge = (one: NewNode, beside: readonly NewNode[]): readonly string[] =>
    checkBin(
      worldOf({ pods: [], snapshot: { nodes: [empty] } }),
      { bin: one, pods: spreadOut, beside: { newNodes: beside, placements: [] } },
      defaultPlanOptions,
    ).map((each) => `${each.code} at ${each.where}`);
  test('is judged with what is to happen beside it, and answers for itself only', () => {
    const crowded = bin('d', ['p-0', 'p-1']);
    expect([judge(bins[0] as NewNode, bins), judge(crowded, [])]).toEqual([
      [],
      ['topology-spread at d'],
    ]);
  });
  test('whose pods are gone is refused by their names', () =>
    expect(
      checkBin(
        worldOf({ pods: [] }),
        { bin: bin('b', ['ghost']), pods: [], beside: { newNodes: [], placements: [] } },
        defaultPlanOptions,
      ),
    ).toMatchObject([{ code: 'unknown-pod', where: 'ghost' }]));
});
