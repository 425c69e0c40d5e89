import type { Pool } from '@dovetail/core-api';
import { describe, expect, test } from 'vitest';

import {
  daemonSetOf,
  gibibytes,
  offeringOf,
  podOf,
  podsOf,
  poolOf,
  selecting,
  typeOf,
} from './testing/objects.js';
import { planScenario, type Scenario } from './testing/scenario.js';

// Prices in proportion to size, but for burstable types: their small sizes have as many cores as
// larger ones.
const sizeOf = (
  name: string,
  cores: number,
  dollars: number,
  over: { readonly resources?: Readonly<Record<string, number>> } = {},
) =>
  typeOf({
    name,
    cpuMillis: cores * 1000,
    memoryBytes: gibibytes(cores * 2),
    labels: {
      'karpenter.k8s.aws/instance-category': name[0] ?? '',
      'karpenter.k8s.aws/instance-generation': name[1] ?? '',
    },
    offerings: [offeringOf('zone-a', 'on-demand', dollars * 1e6)],
    ...over,
  });
const types = [
  sizeOf('t3.micro', 2, 0.01),
  sizeOf('t3.xlarge', 4, 0.15),
  sizeOf('c6.large', 2, 0.08),
  sizeOf('c6.xlarge', 4, 0.16),
  sizeOf('m1.small', 2, 0.02),
  sizeOf('g4.xlarge', 4, 0.5, { resources: { 'nvidia.com/gpu': 1 } }),
];
const provisioner = (over: Partial<Pool> = {}): Pool =>
  poolOf('default', { ...over, identity: { kind: 'Provisioner', name: 'default' } });
const four = podsOf('p', 4, { requests: { cpu: 1500, memory: gibibytes(1), pods: 1 } });
const nodesOf = (scenario: Scenario) =>
  planScenario({ types, ...scenario }).newNodes.map((node) => [
    node.podUids.length,
    [...new Set(node.options.map((option) => option.instanceType))].join(' '),
  ]);

describe('a Provisioner that names no types', () => {
  test('has as few nodes as its sizes allow for the same price, each launched as any type that holds it', () =>
    expect(nodesOf({ pools: [provisioner()], pods: four })).toEqual([
      [2, 't3.xlarge c6.xlarge g4.xlarge'],
      [2, 't3.xlarge c6.xlarge g4.xlarge'],
    ]));
  test('says so of its nodes', () =>
    expect(
      planScenario({ types, pools: [provisioner()], pods: four }).newNodes[0]?.notes[0]?.message,
    ).toBe(
      'Provisioner/default is the only pool that may open nodes, and its nodes are sized by types with karpenter.k8s.aws/instance-category In [c, m, r] and karpenter.k8s.aws/instance-generation Gte 3, as for every Provisioner that names no types; any type that holds one may be launched',
    ));
  test('claims nothing about categories', () =>
    expect(
      planScenario({ types, pools: [provisioner()], pods: four }).newNodes[0]?.requirements.map(
        ({ key }) => key,
      ),
    ).not.toContain('karpenter.k8s.aws/instance-category'));
  test.each<[string, Scenario['pods'], [number, string][]]>([
    [
      'names another type',
      podsOf('p', 2, {
        requests: { cpu: 1500, memory: gibibytes(1), pods: 1 },
        nodeSelector: { 'node.kubernetes.io/instance-type': 't3.micro' },
      }),
      [
        [1, 't3.micro'],
        [1, 't3.micro'],
      ],
    ],
    [
      'needs what its sizes do not have',
      [podOf('p', { requests: { cpu: 1500, memory: gibibytes(1), pods: 1, 'nvidia.com/gpu': 1 } })],
      [[1, 'g4.xlarge']],
    ],
    [
      'names another category',
      [
        ...four.slice(0, 2),
        podOf('t', {
          requests: { cpu: 1900, memory: gibibytes(1), pods: 1 },
          nodeSelector: { 'karpenter.k8s.aws/instance-category': 't' },
        }),
      ],
      [
        [1, 't3.micro t3.xlarge'],
        [2, 't3.xlarge c6.xlarge g4.xlarge'],
      ],
    ],
    [
      'must be beside another on a node of another category',
      [
        podOf('p', {
          labels: { app: 'p' },
          requests: { cpu: 1500, memory: gibibytes(1), pods: 1 },
        }),
        podOf('t', {
          nodeSelector: { 'karpenter.k8s.aws/instance-category': 't' },
          requiredPodAffinity: [
            {
              topologyKey: 'kubernetes.io/hostname',
              selector: selecting({ app: 'p' }),
              namespaces: [],
            },
          ],
        }),
      ],
      [[2, 't3.micro t3.xlarge']],
    ],
  ])('takes a pod that %s', (_, pods, expected) =>
    expect(nodesOf({ pools: [provisioner()], pods })).toEqual(expected),
  );
  test('takes a pod for which its limits leave room on other types alone', () =>
    expect(
      nodesOf({
        pools: [provisioner({ limits: { memory: gibibytes(3) } })],
        types: [
          sizeOf('c6.xlarge', 4, 0.16),
          typeOf({
            ...sizeOf('t3.nano', 2, 0.01),
            cpuMillis: 2000,
            memoryBytes: gibibytes(2),
            labels: { 'karpenter.k8s.aws/instance-category': 't' },
          }),
        ],
        pods: [podOf('p')],
      }),
    ).toEqual([[1, 't3.nano']]));
  test.each<[string, Scenario['pods']]>([
    ['cannot be placed', [podOf('x', { nodeSelector: { nowhere: 'x' } })]],
    ['is too large for any type', [podOf('x', { requests: { cpu: 900_000, memory: 0, pods: 1 } })]],
    [
      'needs a GPU',
      [podOf('x', { requests: { cpu: 3800, memory: 0, pods: 1, 'nvidia.com/gpu': 1 } })],
    ],
  ])('keeps its sizes beside a pod that %s, also while the plan is improved', (_, others) => {
    for (const stepsMax of [0, 2000]) {
      const found = nodesOf({
        pools: [provisioner()],
        pods: [
          ...podsOf('p', 24, { requests: { cpu: 1500, memory: gibibytes(1), pods: 1 } }),
          ...others,
        ],
        options: { stepsMax },
      });
      expect(found.filter(([, names]) => names !== 'g4.xlarge')).toEqual(
        Array.from({ length: 12 }, () => [2, 't3.xlarge c6.xlarge g4.xlarge']),
      );
    }
  });
  test('shares the pods of a hostname spread among nodes of its sizes, also beside pods that need others', () => {
    const spread = {
      maxSkew: 1,
      topologyKey: 'kubernetes.io/hostname',
      whenUnsatisfiable: 'DoNotSchedule' as const,
      selector: selecting({ app: 's' }),
      nodeAffinityPolicy: 'Honor' as const,
      nodeTaintsPolicy: 'Ignore' as const,
    };
    const pods = [
      ...podsOf('s', 30, {
        labels: { app: 's' },
        topologySpread: [spread],
        nodeSelector: { 'topology.kubernetes.io/zone': 'zone-a' },
      }),
      ...podsOf('g', 3, { requests: { cpu: 3000, memory: 0, pods: 1, 'nvidia.com/gpu': 1 } }),
    ];
    const countOf = (pool: Pool): number =>
      planScenario({ types, pools: [pool], pods }).newNodes.length;
    expect(countOf(provisioner())).toBeLessThanOrEqual(countOf(poolOf('default')));
  });
  test('has a port that a daemonset takes on its sizes served by another type', () => {
    const port = { ip: '', port: 80, protocol: 'TCP' as const };
    const daemonSets = [
      daemonSetOf('edge', {
        hostPorts: [port],
        nodeSelector: { 'karpenter.k8s.aws/instance-category': 'c' },
      }),
    ];
    const found = planScenario({
      types,
      pools: [provisioner()],
      pods: [
        ...podsOf('p', 300, { requests: { cpu: 1500, memory: 0, pods: 1 } }),
        podOf('web', { hostPorts: [port] }),
      ],
      snapshot: { daemonSets },
    });
    expect(found.unplaced).toEqual([]);
    expect(
      found.newNodes
        .find((node) => node.podUids.includes('web'))
        ?.options.some((option) => option.instanceType.startsWith('c')),
    ).toBe(false);
    expect(found.newNodes.filter((node) => node.podUids.length === 2).length).toBeGreaterThan(140);
  });
  test('has host ports kept apart as anywhere', () =>
    expect(
      nodesOf({
        pools: [provisioner()],
        pods: podsOf('p', 2, { hostPorts: [{ ip: '', port: 80, protocol: 'TCP' }] }),
      }).map(([count]) => count),
    ).toEqual([1, 1]));
  test('has all of its types count when none is of the usual sizes', () =>
    expect(
      nodesOf({ pools: [provisioner()], types: types.slice(0, 2), pods: four }).map(
        ([count]) => count,
      ),
    ).toEqual([1, 1, 1, 1]));
});

describe('beside a NodePool of the same name', () => {
  const pools = [provisioner(), poolOf('default')];
  test.each<[string, string]>([
    ['karpenter.sh/nodepool', 'NodePool'],
    ['karpenter.sh/provisioner-name', 'Provisioner'],
  ])('a pod that asks for %s goes to the %s', (key, kind) => {
    const made = planScenario({
      types,
      pools,
      pods: [podOf('p', { nodeSelector: { [key]: 'default' } })],
    });
    expect(made.newNodes.map(({ pool }) => pool.kind)).toEqual([kind]);
  });
  test('a daemonset for one of them takes nothing from the other', () => {
    const daemonSets = [
      daemonSetOf('agent', {
        requests: { cpu: 1000, memory: 0, pods: 1 },
        nodeSelector: { 'karpenter.sh/nodepool': 'default' },
      }),
    ];
    const made = planScenario({
      types,
      pools,
      snapshot: { daemonSets },
      pods: [podOf('p', { nodeSelector: { 'karpenter.sh/provisioner-name': 'default' } })],
    });
    expect(made.newNodes.map(({ requests }) => requests['cpu'])).toEqual([100]);
  });
});

describe('every type counts', () => {
  const burst = [1, 't3.micro m1.small c6.large t3.xlarge c6.xlarge g4.xlarge'];
  test.each<[string, Pool]>([
    ['in a NodePool', poolOf('default')],
    [
      'in a Provisioner that names categories',
      provisioner({
        requirements: [
          { key: 'karpenter.k8s.aws/instance-category', operator: 'Exists', values: [] },
        ],
      }),
    ],
    [
      'in a Provisioner that asks for several types',
      provisioner({
        requirements: [{ key: 'kubernetes.io/arch', operator: 'Exists', values: [], minValues: 1 }],
      }),
    ],
  ])('%s', (_, pool) =>
    expect(nodesOf({ pools: [pool], pods: four })).toEqual([burst, burst, burst, burst]),
  );
});
