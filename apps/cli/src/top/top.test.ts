import { Fleet, type FleetKind, fleetObjectOf, nodeStates } from '@dovetail/core-fleet';
import type { KubeObject } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import { topChoices } from '../commands/top.js';
import { type TopNode, topNodesOf } from './node.js';
import { topOnce } from './run.js';
import { selected, sortKeys, type TopSelection } from './selection.js';
import { topText } from './text.js';

const nowMs = Date.UTC(2026, 0, 31, 12);
const at = (agoMs: number): string => new Date(nowMs - agoMs).toISOString();
const hour = 3_600_000;
const selection: TopSelection = { sort: 'age', reverse: false };

type Over = Readonly<Record<string, unknown>>;
const claimOf = (name: string, over: Over = {}, meta: Over = {}): KubeObject =>
  ({
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: {
      name,
      uid: `claim-${name}`,
      resourceVersion: '1',
      creationTimestamp: at(hour),
      labels: {
        'karpenter.sh/nodepool': 'default',
        'karpenter.sh/capacity-type': 'spot',
        'node.kubernetes.io/instance-type': 'c5.large',
        'topology.kubernetes.io/zone': 'us-east-1a',
      },
      annotations: { 'dovetail.sh/price-per-hour': '~0.0850' },
      ...meta,
    },
    spec: {
      nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
      requirements: [],
      expireAfter: '720h',
    },
    status: { nodeName: `node-${name}`, ...over },
  }) as unknown as KubeObject;
const nodeOf = (name: string, meta: Over = {}, spec: Over = {}, ready = 'True'): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: `node-${name}`,
      uid: `node-uid-${name}`,
      resourceVersion: '1',
      creationTimestamp: at(hour),
      labels: { 'karpenter.sh/initialized': 'true' },
      ...meta,
    },
    spec,
    status: {
      allocatable: { cpu: '2', memory: '4Gi', pods: '29' },
      capacity: { cpu: '2', memory: '4Gi', pods: '29' },
      conditions: [{ type: 'Ready', status: ready }],
    },
  }) as unknown as KubeObject;
const podOf = (name: string, nodeName: string | undefined, phase = 'Running'): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      uid: name,
      namespace: 'shop',
      resourceVersion: '1',
      creationTimestamp: at(9),
    },
    spec: {
      ...(nodeName === undefined ? {} : { nodeName }),
      containers: [{ name: 'main', resources: { requests: { cpu: '500m', memory: '1Gi' } } }],
    },
    status: { phase },
  }) as unknown as KubeObject;
const pool = {
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'default', uid: 'pool', resourceVersion: '1', creationTimestamp: at(hour) },
  spec: {
    template: {
      spec: {
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        requirements: [],
      },
    },
    disruption: { consolidationPolicy: 'WhenEmpty', consolidateAfter: '90m' },
  },
} as unknown as KubeObject;

function fleetOf(objects: readonly (readonly [FleetKind, KubeObject])[]): Fleet {
  const fleet = new Fleet();
  for (const [kind, object] of objects) {
    const known = fleetObjectOf[kind](object);
    if (known !== undefined) fleet.set(known);
  }
  return fleet;
}
const onlyNode = (objects: readonly (readonly [FleetKind, KubeObject])[]): Partial<TopNode> =>
  topNodesOf(fleetOf(objects), nowMs)[0] ?? {};

describe('the next thing that happens to a node', () => {
  const retirement = JSON.stringify({ cause: 'drifted', atMs: nowMs });
  test.each<[string, readonly (readonly [FleetKind, KubeObject])[], TopNode['state'], string]>([
    [
      'a claim that waits for EC2',
      [['claim', claimOf('a', { nodeName: undefined })]],
      'launching',
      'launches',
    ],
    [
      'a node that has joined',
      [
        ['claim', claimOf('a')],
        ['node', nodeOf('a', { labels: {} })],
      ],
      'starting',
      'becomes ready',
    ],
    [
      'a node that is not ready any more',
      [
        ['claim', claimOf('a')],
        ['node', nodeOf('a', {}, {}, 'False')],
      ],
      'not-ready',
      'not ready: repaired or ended',
    ],
    [
      'a node without pods, in a pool that ends it later',
      [
        ['claim', claimOf('a')],
        ['node', nodeOf('a')],
        ['pool', pool],
      ],
      'ready',
      'empty: ends in 30m',
    ],
    [
      'a node without pods, in a pool that is gone',
      [
        ['claim', claimOf('a')],
        ['node', nodeOf('a')],
      ],
      'ready',
      'expires in 29d 23h',
    ],
    [
      'a node with a pod',
      [
        ['claim', claimOf('a')],
        ['node', nodeOf('a')],
        ['pool', pool],
        ['pod', podOf('p', 'node-a')],
      ],
      'ready',
      'expires in 29d 23h',
    ],
    [
      'a drifted node',
      [
        ['claim', claimOf('a', { conditions: [{ type: 'Drifted', status: 'True' }] })],
        ['node', nodeOf('a')],
      ],
      'ready',
      'drifted: is replaced',
    ],
    [
      'a node that the reaper ends',
      [
        ['claim', claimOf('a')],
        ['node', nodeOf('a', { annotations: { 'dovetail.sh/retirement': retirement } })],
        ['pod', podOf('p', 'node-a')],
      ],
      'ending',
      'ending (drifted): 1 pod to move',
    ],
  ])('%s', (_what, objects, state, next) =>
    expect(onlyNode(objects)).toMatchObject({ state, next }),
  );
});

describe('a fleet', () => {
  const start = (): Fleet =>
    fleetOf([
      ['claim', claimOf('a')],
      ['node', nodeOf('a')],
      ['pod', podOf('p', 'node-a')],
      ['pod', podOf('q', undefined, 'Pending')],
      ['pod', podOf('done', 'node-a', 'Succeeded')],
    ]);
  const fill = (fleet: Fleet): number | undefined => topNodesOf(fleet, nowMs)[0]?.cpu.requested;

  test('sums what pods request of each node, without those that have ended', () => {
    expect(topNodesOf(start(), nowMs)).toMatchObject([
      {
        node: 'node-a',
        pods: 1,
        podsMax: 29,
        cpu: { requested: 500, allocatable: 2_000 },
        memory: { requested: 1024 ** 3, allocatable: 4 * 1024 ** 3 },
        priceMicrosPerHour: 85_000,
        priceEstimated: true,
      },
    ]);
    expect(start().waiting()).toBe(1);
  });

  test('follows a pod that is bound, changed and deleted', () => {
    const fleet = start();
    const bound = fleetObjectOf.pod(podOf('q', 'node-a'));
    if (bound !== undefined) {
      fleet.set(bound);
      fleet.set(bound);
    }
    expect([fill(fleet), fleet.waiting()]).toEqual([1_000, 0]);
    fleet.drop('pod', 'q');
    fleet.drop('pod', 'unknown');
    expect(fill(fleet)).toBe(500);
    fleet.clear('pod');
    expect(fill(fleet)).toBe(0);
  });

  test('keeps a node of the same name that came before its predecessor went', () => {
    const fleet = start();
    const next = fleetObjectOf.node(nodeOf('a', { uid: 'later' }));
    if (next !== undefined) fleet.set(next);
    fleet.drop('node', 'node-uid-a');
    expect(topNodesOf(fleet, nowMs)[0]?.state).toBe('ready');
    fleet.drop('node', 'later');
    expect(topNodesOf(fleet, nowMs)[0]?.state).toBe('launching');
  });

  test('leaves objects out that cannot be read, and those of another provider', () => {
    const nodeClassRef = { group: 'eks.amazonaws.com', kind: 'NodeClass', name: 'default' };
    const spec = { nodeClassRef, requirements: [], template: { spec: { nodeClassRef } } };
    const claims = [{ metadata: { name: 'x' } }, { ...claimOf('b'), spec }];
    expect(claims.map((each) => fleetObjectOf.claim(each))).toEqual([undefined, undefined]);
    expect(fleetObjectOf.pool({ ...pool, spec })).toBeUndefined();
  });
});

const row = (node: string, over: Partial<TopNode> = {}): TopNode => ({
  node,
  claim: node,
  pool: 'NodePool/default',
  instanceType: 'c5.large',
  capacityType: 'spot',
  zone: 'us-east-1a',
  state: 'ready',
  cpu: { requested: 1_000, allocatable: 2_000 },
  memory: { requested: 0, allocatable: 1_000 },
  pods: 1,
  podsMax: 29,
  priceMicrosPerHour: 50_000,
  priceEstimated: false,
  ageMs: hour,
  next: 'expires in 1d',
  nextMs: nowMs + 24 * hour,
  ...over,
});

describe('rows', () => {
  const rows = [
    row('b', { ageMs: 2 * hour, zone: 'us-east-1b' }),
    row('c', { state: 'ending', pool: 'NodePool/gpu' }),
    row('a', { cpu: { requested: 1_500, allocatable: 2_000 }, nextMs: nowMs }),
  ];
  const names = (over: Partial<TopSelection>): readonly string[] =>
    selected(rows, { ...selection, ...over }).map(({ node }) => node);

  test.each<[Partial<TopSelection>, readonly string[]]>([
    [{}, ['b', 'a', 'c']],
    [{ reverse: true }, ['a', 'c', 'b']],
    [{ sort: 'name' }, ['a', 'b', 'c']],
    [{ sort: 'cpu' }, ['a', 'b', 'c']],
    [{ sort: 'next' }, ['c', 'a', 'b']],
    [{ sort: 'zone' }, ['a', 'c', 'b']],
    [{ pool: 'gpu' }, ['c']],
    [{ pool: 'Provisioner/gpu' }, []],
    [{ zone: 'us-east-1b' }, ['b']],
    [{ states: ['ready'] }, ['b', 'a']],
    [{ type: 'm5.large' }, []],
    [{ capacityType: 'on-demand' }, []],
  ])('%j selects %j', (over, wanted) => expect(names(over)).toEqual(wanted));

  test('the flags offer every column and state', () => {
    expect(topChoices.sort).toEqual(sortKeys);
    expect(topChoices.state).toEqual(nodeStates);
  });

  test.each([200, 120, 80, 60, 40, 20])('on %i columns no line is longer', (width) => {
    const text = topText(rows, 0, { bars: true, layout: { width } });
    for (const line of text.split('\n').slice(1)) expect(line.length).toBeLessThanOrEqual(width);
  });

  test('a narrow terminal keeps fill and what comes next', () => {
    const text = topText(rows, 0, { bars: false, layout: { width: 45 } });
    expect(text).toMatch(/NODE +CPU +MEMORY .*NEXT/);
    expect(text).not.toMatch(/ZONE|AGE/);
  });

  test('no node, and rows that a terminal has no room for, are said to be so', () => {
    expect(topText([], 3, { bars: false, layout: {} })).toBe(
      '0 nodes · $0.0000/h · CPU - · memory - · 3 pods without a node\nno node of ours, or none that the flags choose\n',
    );
    expect(topText(rows, 0, { rowsMax: 1, bars: false, layout: {} })).toMatch(/^and 2 more: /m);
  });

  test('a look at 5,000 nodes and 50,000 pods passes over no pod', () => {
    const fleet = new Fleet();
    for (let index = 0; index < 5_000; index += 1) {
      const name = String(index);
      for (const known of [fleetObjectOf.claim(claimOf(name)), fleetObjectOf.node(nodeOf(name))])
        if (known !== undefined) fleet.set(known);
    }
    const use = { cpu: 100, memory: 1, pods: 1, moving: 1 };
    for (let index = 0; index < 50_000; index += 1) {
      const nodeName = `node-${String(index % 5_000)}`;
      fleet.set({ kind: 'pod', uid: String(index), pod: { ...use, nodeName } });
    }
    const nodes = selected(topNodesOf(fleet, nowMs), { ...selection, sort: 'cpu' });
    expect(nodes).toHaveLength(5_000);
    expect(nodes.every(({ pods }) => pods === 10)).toBe(true);
    expect(
      topText(nodes, 0, { rowsMax: 50, bars: true, layout: { width: 120 } }).split('\n'),
    ).toHaveLength(54);
  });
});

test('without a cluster the command ends with 69 and says what to check', async () => {
  let err = '';
  const code = await topOnce(
    { cluster: { labFirst: false, kubeconfig: '/none' }, selection, output: 'table', layout: {} },
    {
      out: () => undefined,
      err: (text) => {
        err += text;
      },
      progress: () => undefined,
    },
  );
  expect({ code, err }).toMatchObject({
    code: 69,
    err: expect.stringMatching(/check --kubeconfig/),
  });
});
