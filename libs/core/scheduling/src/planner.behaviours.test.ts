import type { Pod, PodAffinityTerm, TopologySpreadConstraint } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import { type Demands, levelsOf } from './model/levels.js';
import {
  daemonSetOf,
  gibibytes,
  nodeOf,
  offeringOf,
  podOf,
  podsOf,
  poolOf,
  selecting,
  typeOf,
} from './testing/objects.js';
import { codesOf, planScenario, valuesAt, zoneCounts } from './testing/scenario.js';

// Behaviours of Karpenter's scheduler that are easy to miss and that no other table here shows.

const zoneKey = 'topology.kubernetes.io/zone';
const hostKey = 'kubernetes.io/hostname';
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
const web = (over: Partial<Pod> = {}): Partial<Pod> => ({ labels: { app: 'web' }, ...over });
const podTerm = (app: string): PodAffinityTerm => ({
  topologyKey: zoneKey,
  selector: selecting({ app }),
  namespaces: [],
});
const nodeTerm = (zone: string) => ({
  matchExpressions: [{ key: zoneKey, operator: 'In' as const, values: [zone] }],
  matchFields: [],
});
const cores = (count: number) => ({ cpu: count * 1000, memory: 0, pods: 1 });

describe('preferences are relaxed in six steps, the heaviest of each kind first', () => {
  const given = (level: Demands): string =>
    [
      level.term?.matchExpressions[0]?.values[0] ?? '-',
      level.affinity.length,
      level.antiAffinity.length,
      level.preferredTerm?.matchExpressions[0]?.values[0] ?? '-',
      level.spread.length,
      level.toleratesPreferred ? 'tolerates' : 'minds',
    ].join(' ');
  test('alternatives, pod affinity, pod anti-affinity, node affinity, soft spread, soft taints', () => {
    const pod = podOf('p', {
      requiredNodeAffinity: [nodeTerm('first'), nodeTerm('last')],
      preferredPodAffinity: [{ weight: 1, term: podTerm('x') }],
      preferredPodAntiAffinity: [{ weight: 1, term: podTerm('y') }],
      preferredNodeAffinity: [
        { weight: 1, term: nodeTerm('light') },
        { weight: 9, term: nodeTerm('heavy') },
      ],
      topologySpread: [spread(zoneKey, { whenUnsatisfiable: 'ScheduleAnyway' })],
    });
    expect(levelsOf(pod, { preferences: 'Respect', taintPreferences: true }).map(given)).toEqual([
      'first 1 1 heavy 1 minds',
      'last 1 1 heavy 1 minds',
      'last 0 1 heavy 1 minds',
      'last 0 0 heavy 1 minds',
      'last 0 0 light 1 minds',
      'last 0 0 - 1 minds',
      'last 0 0 - 0 minds',
      'last 0 0 - 0 tolerates',
    ]);
  });
  test('one pod that gives something up does not make its equals give it up', () => {
    // Two zones that the anti-affinity prefers to part: of three, one yields, and the others keep
    // their preference.
    const made = planScenario({
      pods: podsOf(
        'w',
        4,
        web({ preferredPodAntiAffinity: [{ weight: 1, term: podTerm('web') }] }),
      ),
    });
    expect([made.unplaced.length, zoneCounts(made, 'w').length]).toEqual([0, 3]);
  });
});

describe('volumes bind the node, not the domains of spread or affinity', () => {
  const inZoneB = {
    persistentVolumeClaims: [0, 1].map((index) => ({
      uid: `c${index}`,
      namespace: 'default',
      name: `c${index}`,
      resourceVersion: '1',
      phase: 'Bound' as const,
      bindCompleted: true,
      volumeName: `v${index}`,
    })),
    persistentVolumes: [0, 1].map((index) => ({
      uid: `v${index}`,
      name: `v${index}`,
      resourceVersion: '1',
      local: false,
      nodeAffinity: [nodeTerm('zone-b')],
    })),
  };
  test('two pods with volumes in one zone are too many for a spread over three', () => {
    const made = planScenario({
      pods: [0, 1].map((index) =>
        podOf(
          `w-${index}`,
          web({ topologySpread: [spread(zoneKey)], volumes: [{ claimName: `c${index}` }] }),
        ),
      ),
      snapshot: inZoneB,
    });
    expect([zoneCounts(made, 'w'), made.unplaced.map((one) => one.reasons[0]?.code)]).toEqual([
      [1],
      ['displaced'],
    ]);
  });
  test('a pod with a volume draws the pods that follow it into its zone', () => {
    const made = planScenario({
      pods: [
        podOf('db', { labels: { app: 'db' }, volumes: [{ claimName: 'c0' }] }),
        podOf('w', web({ requiredPodAffinity: [podTerm('db')] })),
      ],
      snapshot: inZoneB,
    });
    expect([valuesAt(made, 'db', 'zone'), valuesAt(made, 'w', 'zone')]).toEqual([
      ['zone-b'],
      ['zone-b'],
    ]);
  });
});

describe('domains of a spread', () => {
  const tainted = poolOf('tainted', {
    taints: [{ key: 'x', effect: 'NoSchedule' }],
    requirements: [{ key: zoneKey, operator: 'In', values: ['zone-c'] }],
  });
  const plain = poolOf('plain', {
    requirements: [{ key: zoneKey, operator: 'In', values: ['zone-a', 'zone-b'] }],
  });
  test.each<['Honor' | 'Ignore', number[], number]>([
    ['Honor', [2, 2], 0],
    ['Ignore', [1, 1], 2],
  ])(
    'nodeTaintsPolicy %s: zones of pools whose taints are not tolerated',
    (nodeTaintsPolicy, counts, left) => {
      const made = planScenario({
        pools: [plain, tainted],
        pods: podsOf('w', 4, web({ topologySpread: [spread(zoneKey, { nodeTaintsPolicy })] })),
      });
      expect([zoneCounts(made, 'w'), made.unplaced.length]).toEqual([counts, left]);
    },
  );
  test.each<[string, Partial<Pod>, number]>([
    ['counts', {}, 1],
    [
      'does not count, where the pod could not go there',
      { nodeSelector: { 'kubernetes.io/os': 'linux' } },
      0,
    ],
  ])('a zone that only an existing node has %s', (_, over, left) => {
    const node = nodeOf('n', {
      cordoned: true,
      labels: { [zoneKey]: 'zone-z', 'kubernetes.io/os': 'windows' },
    });
    expect(
      planScenario({
        pods: podsOf('w', 4, web({ ...over, topologySpread: [spread(zoneKey)] })),
        snapshot: { nodes: [node] },
      }).unplaced,
    ).toHaveLength(left);
  });
  test('two spreads whose selectors include each other are both kept', () => {
    const both = {
      requirements: [{ key: 'app', operator: 'In' as const, values: ['web', 'api'] }],
    };
    const made = planScenario({
      pods: [
        ...podsOf('w', 3, web({ topologySpread: [spread(zoneKey, { selector: both })] })),
        ...podsOf('a', 3, {
          labels: { app: 'api' },
          topologySpread: [spread(zoneKey, { selector: both })],
        }),
      ],
    });
    expect([made.unplaced.length, zoneCounts(made, '')]).toEqual([0, [2, 2, 2]]);
  });
  test.each([1, 2, 5])(
    "on hostnames, maxSkew %i: with Karpenter's reading each node holds at most so many",
    (maxSkew) => {
      const made = planScenario({
        pods: podsOf('w', 11, web({ topologySpread: [spread(hostKey, { maxSkew })] })),
        options: { hostnameSpread: 'strict' },
      });
      expect(Math.max(...made.newNodes.map((node) => node.podUids.length))).toBeLessThanOrEqual(
        maxSkew,
      );
    },
  );
});

test("daemonsets' least overhead over a node's options is added to its claim once", () => {
  // On types of family m the agent runs as well: a node that may be either asks for what the
  // smaller crew takes.
  const daemonSets = [
    daemonSetOf('logs', { requests: { cpu: 100, memory: 0, pods: 1 } }),
    daemonSetOf('agent', {
      requests: { cpu: 300, memory: 0, pods: 1 },
      nodeSelector: { 'karpenter.k8s.aws/instance-family': 'm' },
    }),
  ];
  const made = planScenario({
    pods: podsOf('p', 2, { requests: { cpu: 200, memory: gibibytes(1), pods: 1 } }),
    snapshot: { daemonSets },
  });
  const [node] = made.newNodes;
  expect([
    new Set(node?.options.map((one) => one.instanceType[0])).has('m'),
    node?.requests['cpu'],
    node?.requests['pods'],
  ]).toEqual([true, 500, 3]);
});

test.each([
  ['Fallback', ['heavy', 'light'], 0],
  ['Strict', ['heavy'], 1],
] as const)(
  'with %s, what a reservation of a heavier pool has no room for: nodes of %j, %i pods wait',
  (reservedOfferings, expected, waiting) => {
    const reserved = typeOf({
      name: 'r.4',
      cpuMillis: 4000,
      memoryBytes: gibibytes(16),
      offerings: [offeringOf('zone-a', 'reserved', 0, { reservation: { id: 'cr', remaining: 1 } })],
    });
    const other = typeOf({
      name: 'm.4',
      cpuMillis: 4000,
      memoryBytes: gibibytes(16),
      offerings: [offeringOf('zone-a', 'on-demand', 100)],
    });
    const pools = [
      { pool: poolOf('heavy', { weight: 9 }), instanceTypes: [reserved] },
      { pool: poolOf('light'), instanceTypes: [other] },
    ];
    const made = planScenario({
      pods: podsOf('p', 2, { requests: cores(3) }),
      snapshot: { pools },
      options: { reservedOfferings },
    });
    expect([made.newNodes.map((node) => node.pool.name).sort(), made.unplaced.length]).toEqual([
      expected,
      waiting,
    ]);
  },
);

describe('limits', () => {
  test('of `nodes` hold within one plan', () =>
    expect(
      planScenario({
        pods: podsOf('p', 9, { requests: cores(20) }),
        pools: [poolOf('default', { limits: { nodes: 3 } })],
      }).newNodes,
    ).toHaveLength(3));
  test('that leave room for some options only take the others off the list', () => {
    const made = planScenario({
      pods: [podOf('p', { requests: cores(1) })],
      pools: [poolOf('default', { limits: { cpu: 4000 } })],
    });
    expect(
      valuesAt(made, 'p', 'instanceType').every(
        (name) => name.endsWith('.2') || name.endsWith('.4'),
      ),
    ).toBe(true);
  });
});

describe('minValues', () => {
  const pool = (minValues: number) =>
    poolOf('default', {
      requirements: [
        { key: 'node.kubernetes.io/instance-type', operator: 'Exists', values: [], minValues },
      ],
    });
  test('is counted over the types that are left after a price cap', () =>
    expect(
      codesOf(
        planScenario({
          pods: [podOf('p')],
          pools: [{ ...pool(40), maxPriceMicrosPerHour: 20_000 }],
        }),
        'p',
      ),
    ).toEqual(['min-values']));
});

describe('labels', () => {
  test('a label that must only exist gets one value, and all pods of the node share it', () => {
    const made = planScenario({
      pods: podsOf('p', 2, {
        requiredNodeAffinity: [
          { matchExpressions: [{ key: 'team', operator: 'Exists', values: [] }], matchFields: [] },
        ],
      }),
      pools: [
        poolOf('default', {
          requirements: [{ key: 'team', operator: 'In', values: ['red', 'blue'] }],
        }),
      ],
    });
    expect(made.newNodes.map((node) => node.labels['team'])).toEqual(['blue']);
  });
  test('a host port and a taint of one pool do not bind another', () => {
    const port = { ip: '', port: 80, protocol: 'TCP' as const };
    const pools = [
      poolOf('a', { weight: 9, taints: [{ key: 'x', effect: 'NoSchedule' }] }),
      poolOf('b'),
    ];
    const daemonSets = [
      daemonSetOf('edge', {
        hostPorts: [port],
        tolerations: [{ key: 'x', operator: 'Exists' }],
        nodeSelector: { 'karpenter.sh/nodepool': 'a' },
      }),
    ];
    expect(
      planScenario({
        pools,
        pods: [podOf('p', { hostPorts: [port], tolerations: [{ key: 'x', operator: 'Exists' }] })],
        snapshot: { daemonSets },
      }).newNodes.map((node) => node.pool.name),
    ).toEqual(['b']);
  });
});
