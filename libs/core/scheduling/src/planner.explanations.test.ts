import type { Pod, PodAffinityTerm, TopologySpreadConstraint } from '@dovetail/core-kube-model';
import { describe, expect, test } from '@jest/globals';

import type { Plan, Reason } from './index.js';
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
import { planScenario, type Scenario } from './testing/scenario.js';

// Six types: a.2, a.4, a.8 for amd64 (spot and on-demand) and b.2, b.4, b.8 for arm64 (on-demand),
// of 4 GiB a core.

const zoneKey = 'topology.kubernetes.io/zone';
const hostKey = 'kubernetes.io/hostname';
const typesOf = (family: string, arch: string, capacity: readonly ('spot' | 'on-demand')[]) =>
  [2, 4, 8].map((cores) =>
    typeOf({
      name: `${family}.${cores}`,
      cpuMillis: cores * 1000,
      memoryBytes: gibibytes(cores * 4),
      arch,
      pods: 20,
      labels: { 'example.com/family': family },
      offerings: ['zone-a', 'zone-b'].flatMap((zone) =>
        capacity.map((one) => offeringOf(zone, one, cores * (one === 'spot' ? 10_000 : 40_000))),
      ),
    }),
  );
const types = [
  ...typesOf('a', 'amd64', ['spot', 'on-demand']),
  ...typesOf('b', 'arm64', ['on-demand']),
];
const made = (scenario: Scenario): Plan => planScenario({ types, ...scenario });
/**
 * Why the pod `p`, or the first that is left out, has no place: one reason for each pool and group
 * of nodes.
 */
const why = (scenario: Scenario): readonly Reason[] => {
  const { unplaced } = made(scenario);
  return (unplaced.find((one) => one.podUid === 'p') ?? unplaced[0])?.reasons ?? [];
};

const port = { ip: '', port: 443, protocol: 'TCP' as const };
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
const term = (topologyKey: string, app: string): PodAffinityTerm => ({
  topologyKey,
  selector: selecting({ app }),
  namespaces: [],
});
const wanting = (key: string, value: string): Partial<Pod> => ({ nodeSelector: { [key]: value } });
const cores = (count: number) => ({ cpu: count * 1000, memory: gibibytes(1), pods: 1 });
const one = (over: Partial<Pod>, rest: Partial<Scenario> = {}): Scenario => ({
  pods: [podOf('p', over)],
  ...rest,
});
const limited = (limits: Record<string, number>) => [poolOf('default', { limits })];
const of = 'NodePool/default';

describe('a pool that has no place for a pod says at which constraint the last type fell, and what would help', () => {
  type Row = readonly [what: string, scenario: Scenario, reason: Partial<Reason>];
  test.each<Row>([
    [
      'a taint',
      one(
        {},
        {
          pools: [
            poolOf('default', { taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }] }),
          ],
        },
      ),
      {
        code: 'taint-not-tolerated',
        values: { taint: 'gpu=yes:NoSchedule' },
        fell: { count: 6, of: 6 },
        message: `the pod does not tolerate gpu=yes:NoSchedule of ${of}`,
        remedy: 'add a toleration for gpu=yes:NoSchedule',
      },
    ],
    [
      'a value that was mistyped',
      one(wanting(zoneKey, 'zone-aa')),
      {
        code: 'requirement-mismatch',
        values: { key: zoneKey, wanted: 'In [zone-aa]', offered: 'In [zone-a, zone-b]' },
        fell: { count: 6, of: 6 },
        message: `the pod wants ${zoneKey} In [zone-aa], ${of} offers In [zone-a, zone-b]; did you mean zone-a?`,
        remedy: 'write zone-a',
      },
    ],
    [
      'a label that was mistyped',
      one(wanting('topology.kubernetes.io/zones', 'zone-a')),
      {
        code: 'requirement-mismatch',
        values: {
          key: 'topology.kubernetes.io/zones',
          wanted: 'In [zone-a]',
          offered: 'label not defined',
        },
        message: `the pod wants topology.kubernetes.io/zones In [zone-a], ${of} offers label not defined; did you mean ${zoneKey}?`,
        remedy: `write ${zoneKey}`,
      },
    ],
    [
      'a value that nobody has',
      one(wanting('example.com/family', 'quantum')),
      {
        code: 'requirement-mismatch',
        values: { key: 'example.com/family', wanted: 'In [quantum]', offered: 'In [a, b]' },
        remedy: `let ${of} offer example.com/family In [quantum], or drop it from the pod`,
      },
    ],
    [
      'a value that the pool rules out',
      one(wanting('kubernetes.io/arch', 'arm64'), {
        pools: [
          poolOf('default', {
            requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }],
          }),
        ],
      }),
      {
        code: 'requirement-mismatch',
        values: { key: 'kubernetes.io/arch', wanted: 'In [arm64]', offered: 'In [amd64]' },
        fell: { count: 3, of: 3 },
      },
    ],
    [
      'labels that no type has together',
      one({
        nodeSelector: { 'kubernetes.io/arch': 'arm64', 'karpenter.sh/capacity-type': 'spot' },
      }),
      {
        code: 'no-offering',
        values: {
          keys: 'karpenter.sh/capacity-type, kubernetes.io/arch',
          steps: 'karpenter.sh/capacity-type 3 of 6, kubernetes.io/arch 3 of 3',
        },
        fell: { count: 3, of: 3 },
        message: `no type of ${of} meets all of karpenter.sh/capacity-type, kubernetes.io/arch in a zone and capacity type that can be bought; types excluded: karpenter.sh/capacity-type 3 of 6, kubernetes.io/arch 3 of 3`,
        remedy: 'drop one of karpenter.sh/capacity-type, kubernetes.io/arch from the pod',
      },
    ],
    [
      'the name of a node',
      one(wanting(hostKey, 'node-7')),
      {
        code: 'restricted-label',
        values: { key: hostKey, wanted: 'In [node-7]', offered: 'label not defined' },
        message: `the pod wants ${hostKey} In [node-7], which no new node of ${of} may promise`,
        remedy: `drop ${hostKey} from the pod`,
      },
    ],
    [
      'a label of the reserved domain',
      one(wanting('karpenter.sh/own', 'true')),
      { code: 'restricted-label', remedy: 'drop karpenter.sh/own from the pod' },
    ],
    [
      'more than the largest type has',
      one({ requests: cores(9) }),
      {
        code: 'resources-too-large',
        values: { resource: 'cpu', requested: '9', largest: '8', steps: 'cpu 6 of 6' },
        fell: { count: 6, of: 6 },
        message: `the pod asks for 9 cpu, the largest type of ${of} that it may use has 8`,
        remedy: `ask for at most 8 cpu, or allow larger types in ${of}`,
      },
    ],
    [
      'more than what is left of the types has',
      one({
        requests: { cpu: 5000, memory: gibibytes(40), pods: 1 },
        ...wanting('kubernetes.io/arch', 'arm64'),
      }),
      {
        code: 'resources-too-large',
        values: {
          resource: 'memory',
          requested: '40Gi',
          largest: '32Gi',
          steps: 'labels 3 of 6, cpu 2 of 3, memory 1 of 1',
        },
        fell: { count: 1, of: 1 },
        message: `the pod asks for 40Gi memory, the largest type of ${of} that it may use has 32Gi (types excluded before: labels 3 of 6, cpu 2 of 3)`,
      },
    ],
    [
      'cores written for millicores',
      one({ requests: cores(1500) }),
      {
        code: 'resources-too-large',
        message: `the pod asks for 1500 cpu, the largest type of ${of} that it may use has 8; did you mean millicores (m)?`,
      },
    ],
    [
      'a device that no type has',
      one({ requests: { 'vendor/fpga': 1 } }),
      {
        code: 'resources-too-large',
        values: {
          resource: 'vendor/fpga',
          requested: '1',
          largest: '0',
          steps: 'vendor/fpga 6 of 6',
        },
        message: `the pod asks for 1 vendor/fpga, which no type of ${of} that it may use has`,
        remedy: `allow types with vendor/fpga in ${of}, or drop the request`,
      },
    ],
    [
      'room that daemonsets take',
      one(
        { requests: cores(8) },
        { snapshot: { daemonSets: [daemonSetOf('agent', { requests: cores(1) })] } },
      ),
      {
        code: 'daemonset-overhead',
        values: { resource: 'cpu', requested: '8', largest: '7', steps: 'cpu 6 of 6' },
        message: `the pod asks for 8 cpu; beside daemonsets, which take 1, the largest type of ${of} has 7`,
        remedy: `ask for at most 7 cpu, or allow larger types in ${of}`,
      },
    ],
    [
      'daemonsets that fit nowhere by themselves',
      one({}, { snapshot: { daemonSets: [daemonSetOf('agent', { requests: cores(9) })] } }),
      {
        code: 'daemonset-overhead',
        message: `daemonsets alone do not fit on any of the 6 types of ${of}`,
      },
    ],
    [
      'a host port that a daemonset takes',
      one(
        { hostPorts: [port] },
        { snapshot: { daemonSets: [daemonSetOf('edge', { hostPorts: [port] })] } },
      ),
      {
        code: 'host-port',
        values: { port: '443' },
        fell: { count: 6, of: 6 },
        remedy: 'use another host port, or none',
      },
    ],
    [
      'a limit',
      one({ requests: cores(3) }, { pools: limited({ cpu: 3000 }) }),
      {
        code: 'pool-limit',
        values: { limit: 'cpu=3', left: '3', smallest: '4' },
        message: `the limit of 3 cpu leaves 3 in ${of}; the smallest node for this pod needs 4`,
        remedy: `raise the limit cpu of ${of} to 4`,
      },
    ],
    [
      'a limit that nodes have used up',
      one(
        { requests: cores(1) },
        {
          pools: limited({ nodes: 1 }),
          snapshot: { nodes: [nodeOf('n', { poolKey: of, cordoned: true })] },
        },
      ),
      {
        code: 'pool-limit',
        values: { limit: 'nodes=1', left: '0', smallest: '1' },
        remedy: `raise the limit nodes of ${of} to 2`,
      },
    ],
    [
      'a price cap',
      one({}, { pools: [poolOf('default', { maxPriceMicrosPerHour: 15_000 })] }),
      {
        code: 'price-cap',
        values: { cap: '15000', cheapest: '20000' },
        message: `every type of ${of} costs more than its cap of $0.015/h; the cheapest is $0.02/h`,
        remedy: `raise the cap of ${of} to $0.02/h`,
      },
    ],
    [
      'requirements that rule out every type',
      one(
        {},
        {
          pools: [
            poolOf('default', {
              requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['riscv'] }],
            }),
          ],
        },
      ),
      {
        code: 'no-offering',
        fell: { count: 6, of: 6 },
        message: `${of} admits none of the 6 types that its class can boot`,
        remedy: `widen the requirements of ${of}`,
      },
    ],
    [
      'types that are all out of capacity',
      one(
        {},
        {
          types: types.map((type) => ({
            ...type,
            offerings: type.offerings.map((offering) => ({ ...offering, available: false })),
          })),
        },
      ),
      { code: 'no-capacity', fell: { count: 6, of: 6 } },
    ],
    [
      'a class without types',
      one({}, { types: [] }),
      { code: 'no-offering', message: `the node class of ${of} can boot no instance type` },
    ],
    [
      'too few values for minValues',
      one(
        { requests: cores(7) },
        {
          pools: [
            poolOf('default', {
              requirements: [
                {
                  key: 'node.kubernetes.io/instance-type',
                  operator: 'Exists',
                  values: [],
                  minValues: 4,
                },
              ],
            }),
          ],
        },
      ),
      {
        code: 'min-values',
        values: { key: 'node.kubernetes.io/instance-type', wanted: '4', possible: '2' },
        remedy:
          'lower minValues of node.kubernetes.io/instance-type to 2, or use the policy BestEffort',
      },
    ],
    [
      'an affinity to nobody',
      one({ requiredPodAffinity: [term(zoneKey, 'db')] }),
      {
        code: 'pod-affinity',
        values: { key: zoneKey, counts: '' },
        message: `affinity over ${zoneKey} (the cluster has no pod that it selects) leaves no domain open`,
        remedy:
          'create a pod that the term selects, or prefer the affinity instead of requiring it',
      },
    ],
    [
      'a spread over a label that no node has',
      one({ topologySpread: [spread('example.com/rack')] }),
      {
        code: 'topology-spread',
        message:
          'spread over example.com/rack (no node that it may use has example.com/rack) leaves no domain open',
      },
    ],
    [
      'an affinity to a node of nobody',
      one({ requiredPodAffinity: [term(hostKey, 'db')] }),
      {
        code: 'pod-affinity',
        message: `affinity over ${hostKey} rules out an empty node of ${of}, and no node with room has a pod that it selects`,
      },
    ],
    [
      'a spread over zones that are full',
      one(
        {
          labels: { app: 'web' },
          ...wanting(zoneKey, 'zone-a'),
          topologySpread: [spread(zoneKey, { nodeAffinityPolicy: 'Ignore' })],
        },
        {
          snapshot: {
            nodes: [
              nodeOf('m', { cordoned: true, labels: { [zoneKey]: 'zone-b' } }),
              nodeOf('n', {
                cordoned: true,
                labels: { [zoneKey]: 'zone-a' },
                pods: podsOf('run', 1, { labels: { app: 'web' }, phase: 'Running' }),
              }),
            ],
          },
        },
      ),
      {
        code: 'topology-spread',
        values: { key: zoneKey, counts: 'zone-a=1', maxSkew: '1' },
        message: `spread over ${zoneKey} (zone-a=1) leaves no domain open`,
      },
    ],
    [
      'anti-affinity of a running pod',
      one(
        { labels: { app: 'web' }, ...wanting(zoneKey, 'zone-a') },
        {
          snapshot: {
            nodes: [
              nodeOf('n', {
                cordoned: true,
                labels: { [zoneKey]: 'zone-a' },
                pods: [
                  podOf('guard', {
                    phase: 'Running',
                    requiredPodAntiAffinity: [term(zoneKey, 'web')],
                  }),
                ],
              }),
            ],
          },
        },
      ),
      {
        code: 'pod-anti-affinity',
        values: { key: zoneKey, counts: expect.any(String) as unknown as string },
        remedy: "change the pod's labels, or the other pods' anti-affinity",
      },
    ],
  ])('%s', (_, scenario, reason) =>
    expect(why(scenario)[0]).toMatchObject({ subject: of, ...reason }),
  );
});

describe('pools that are closed say why', () => {
  test.each([
    ['static', { replicas: 2 }, 'pool-static', 'create a pool without spec.replicas'],
    ['going', { deletionMs: 1 }, 'pool-deleting', 'create another pool'],
    ['not ready', { ready: false }, 'pool-not-ready', `make ${of} ready`],
  ] as const)('%s', (_, over, code, remedy) =>
    expect(why(one({}, { pools: [poolOf('default', over)] }))).toEqual([
      expect.objectContaining({ code, subject: of, remedy }),
    ]),
  );
  test('and where there is none, that is said', () =>
    expect(why(one({}, { pools: [] }))).toEqual([
      {
        code: 'no-pools',
        values: {},
        message: 'there is no NodePool or Provisioner',
        remedy: 'create a NodePool',
      },
    ]));
  test('each pool has a reason of its own', () =>
    expect(
      why(
        one(
          { requests: cores(9) },
          { pools: [poolOf('a', { taints: [{ key: 'x', effect: 'NoSchedule' }] }), poolOf('b')] },
        ),
      ).map((reason) => [reason.subject, reason.code]),
    ).toEqual([
      ['NodePool/b', 'resources-too-large'],
      ['NodePool/a', 'taint-not-tolerated'],
    ]));
});

describe('existing nodes are grouped by the first thing that ruled them out, with what was asked and what was left', () => {
  const nodes = [
    nodeOf('full', { pods: podsOf('run', 4, { phase: 'Running', requests: cores(1) }) }),
    nodeOf('half', { pods: podsOf('half', 2, { phase: 'Running', requests: cores(1) }) }),
    nodeOf('tainted', { taints: [{ key: 'x', effect: 'NoSchedule' }] }),
    nodeOf('shut', { cordoned: true }),
  ];
  test('full, tainted and cordoned ones', () =>
    expect(why(one({ requests: cores(3) }, { pools: [], snapshot: { nodes } })).slice(1)).toEqual([
      {
        code: 'node-full',
        subject: 'existing nodes',
        values: { resource: 'cpu', requested: '3', largest: '2' },
        fell: { count: 2, of: 4 },
        message: '2 of 4 existing nodes: not enough cpu; 3 requested, at most 2 free',
        remedy: 'ask for at most 2 cpu',
      },
      {
        code: 'node-cordoned',
        subject: 'existing nodes',
        values: {},
        fell: { count: 1, of: 4 },
        message: '1 of 4 existing nodes: cordoned or being deleted',
      },
      {
        code: 'taint-not-tolerated',
        subject: 'existing nodes',
        values: { taint: 'x:NoSchedule' },
        fell: { count: 1, of: 4 },
        message: '1 of 4 existing nodes: taint x:NoSchedule is not tolerated',
        remedy: 'add a toleration for x:NoSchedule',
      },
    ]));
  test.each<[string, Partial<Pod>, Parameters<typeof nodeOf>[1], Partial<Reason>]>([
    [
      'a label',
      wanting('disk', 'ssd'),
      {},
      {
        code: 'requirement-mismatch',
        message: '1 of 1 existing nodes: label disk is not In [ssd]',
      },
    ],
    [
      'a host port',
      { hostPorts: [port] },
      { pods: [podOf('run', { phase: 'Running', hostPorts: [port] })] },
      { code: 'host-port', values: { port: '443' } },
    ],
    [
      'anti-affinity',
      { requiredPodAntiAffinity: [term(hostKey, 'db')] },
      { pods: [podOf('run', { phase: 'Running', labels: { app: 'db' } })] },
      {
        code: 'pod-anti-affinity',
        message: `1 of 1 existing nodes: anti-affinity over ${hostKey} keeps the pod away`,
      },
    ],
    [
      'affinity',
      { requiredPodAffinity: [term(hostKey, 'db')] },
      {},
      {
        code: 'pod-affinity',
        message: `1 of 1 existing nodes: affinity over ${hostKey} keeps the pod away`,
      },
    ],
  ])('%s', (_, over, node, reason) =>
    expect(
      why(one(over, { pools: [], snapshot: { nodes: [nodeOf('n', node)] } }))[1],
    ).toMatchObject({ subject: 'existing nodes', fell: { count: 1, of: 1 }, ...reason }),
  );
});

describe('a pod that loses its place to another is told which demand displaced it', () => {
  test.each<[string, Scenario, number, Partial<Reason>]>([
    [
      'in a zone',
      {
        pods: podsOf('w', 3, {
          labels: { app: 'web' },
          requiredPodAntiAffinity: [term(zoneKey, 'web')],
        }),
      },
      0,
      {
        code: 'displaced',
        values: {
          rule: 'pod-anti-affinity',
          key: zoneKey,
          by: 'default/w-0 (2 pods)',
          counts: 'zone-a=1,zone-b=1',
        },
        message: `anti-affinity over ${zoneKey} left a domain open before this plan; other pods of the plan took the last place: default/w-0 (2 pods)`,
      },
    ],
    [
      'under a limit',
      {
        pods: [
          ...podsOf('big', 1, { requests: cores(8) }),
          ...podsOf('late', 1, { requests: cores(1) }),
        ],
        pools: limited({ cpu: 8000 }),
      },
      0,
      {
        code: 'pool-limit',
        values: { limit: 'cpu=8', left: '0', smallest: '2', by: 'default/big-0' },
        message: `the limit of 8 cpu leaves 0 in ${of}; the smallest node for this pod needs 2; this plan gave its nodes to default/big-0`,
        remedy: `raise the limit cpu of ${of} to 10`,
      },
    ],
    [
      'on a node that exists',
      {
        pods: [
          ...podsOf('big', 1, { requests: cores(3) }),
          ...podsOf('late', 1, { requests: cores(2) }),
        ],
        pools: [],
        snapshot: { nodes: [nodeOf('n')] },
      },
      1,
      {
        code: 'node-full',
        values: { resource: 'cpu', requested: '2', largest: '1', by: 'default/big-0' },
        message:
          '1 of 1 existing nodes: not enough cpu; 2 requested, at most 1 free; this plan put default/big-0 there',
      },
    ],
  ])('%s', (_, scenario, at, reason) => expect(why(scenario)[at]).toMatchObject(reason));
  test('but that the search was ended, when it had no time to try', () => {
    const late = made({
      pods: podsOf('p', 5_001, { requests: cores(1) }),
      pools: limited({ cpu: 400_000 }),
      options: { shouldStop: () => true },
    });
    expect(late.unplaced).toHaveLength(5_001);
    expect(late.unplaced[0]?.reasons).toEqual([
      {
        code: 'budget-ended',
        subject: of,
        values: {},
        message: 'the search ended before this pod was placed; the next round plans it again',
      },
    ]);
  });
  test('in a capacity reservation', () => {
    const reserved = typeOf({
      name: 'r.4',
      cpuMillis: 4000,
      memoryBytes: gibibytes(16),
      offerings: [
        offeringOf('zone-a', 'reserved', 0, { reservation: { id: 'cr', remaining: 1 } }),
        offeringOf('zone-a', 'on-demand', 100),
      ],
    });
    expect(
      why({ pods: podsOf('p', 2, { requests: cores(3) }), types: [reserved] })[0],
    ).toMatchObject({
      code: 'reserved-capacity',
      values: { by: 'default/p-0' },
      remedy: 'enlarge the reservation, or let reserved offerings fall back',
    });
  });
});

describe('a bin says why its pool, which types stayed and what ended the others', () => {
  const notes = (scenario: Scenario): readonly Reason[] => made(scenario).newNodes[0]?.notes ?? [];
  test('the only pool, every type', () =>
    expect(notes(one({}))).toEqual([
      {
        code: 'pool-chosen',
        subject: of,
        values: { weight: '0', pools: '1' },
        message: `${of} is the only pool that may open nodes`,
      },
    ]));
  test('types that the pods rule out, label by label, and types that are too small', () =>
    expect(
      notes(
        one({
          requests: cores(3),
          nodeSelector: { 'kubernetes.io/arch': 'arm64', [zoneKey]: 'zone-a' },
        }),
      ).slice(1),
    ).toEqual([
      {
        code: 'requirement-mismatch',
        subject: of,
        values: {
          'kubernetes.io/arch': 'In [arm64]',
          [zoneKey]: 'In [zone-a]',
          steps: 'kubernetes.io/arch 3 of 6',
        },
        fell: { count: 3, of: 6 },
        message: "3 of 6 types do not meet the pods' requirements: kubernetes.io/arch 3 of 6",
      },
      {
        code: 'resources-too-large',
        subject: of,
        values: { stayed: '2', cheapest: 'b.4' },
        fell: { count: 1, of: 3 },
        message:
          "1 of 3 types are too small for all pods of the node, or above the pool's limits; 2 remain",
      },
    ]));
  test('types beyond the number that one node may name', () =>
    expect(notes({ ...one({}), options: { instanceTypesMax: 2 } })[1]?.message).toBe(
      "4 of 6 types are too small for all pods of the node, or above the pool's limits, or dearer than the 2 types that one node may name; 2 remain",
    ));
  test('a heavier pool that could not take the pods', () =>
    expect(
      notes(
        one(
          {},
          {
            pools: [
              poolOf('light'),
              poolOf('heavy', { weight: 9, taints: [{ key: 'x', effect: 'NoSchedule' }] }),
            ],
          },
        ),
      )[0]?.message,
    ).toBe(
      'NodePool/light: heavier pools could not take default/p: NodePool/heavy (weight 9): the pod does not tolerate x:NoSchedule of NodePool/heavy; the next of 2 pools, of weight 0',
    ));
  test('the heaviest pool', () =>
    expect(
      notes(one({}, { pools: [poolOf('light'), poolOf('heavy', { weight: 9 })] }))[0],
    ).toMatchObject({
      subject: 'NodePool/heavy',
      values: { weight: '9', pools: '2' },
      message: 'NodePool/heavy: the heaviest of 2 pools, of weight 9',
    }));
  test('the cheapest of equals', () =>
    expect(
      notes(
        one(
          {},
          {
            pools: [
              poolOf('a'),
              poolOf('dear', {
                requirements: [
                  { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
                ],
              }),
            ],
          },
        ),
      )[0]?.message,
    ).toBe('NodePool/a: the cheapest of 2 pools of weight 0 that the plan found'));
});
