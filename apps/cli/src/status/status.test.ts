import type { KubeObject } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import { type ClusterObjects, clusterStatus } from './cluster-status.js';
import { statusText } from './text.js';

const nowMs = Date.UTC(2026, 0, 1, 12);
const ago = (seconds: number): string => new Date(nowMs - seconds * 1_000).toISOString();
const meta = (name: string, over: Partial<KubeObject['metadata']> = {}) => ({
  name,
  uid: name,
  resourceVersion: '1',
  creationTimestamp: ago(300),
  ...over,
});

const lease = (name: string, holderIdentity: string, renewedSeconds: number): KubeObject => ({
  metadata: meta(name, { namespace: 'dovetail' }),
  spec: { holderIdentity, leaseDurationSeconds: 15, renewTime: ago(renewedSeconds) },
});

const claim = (name: string, price: string | undefined, nodeName?: string): KubeObject => ({
  metadata: meta(name, {
    labels: { 'karpenter.sh/nodepool': 'default' },
    annotations: price === undefined ? {} : { 'dovetail.sh/price-per-hour': price },
  }),
  spec: {
    nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
    requirements: [],
  },
  status: nodeName === undefined ? {} : { nodeName },
});

const node = (name: string): KubeObject => ({
  metadata: meta(name),
  spec: {},
  status: {
    allocatable: { cpu: '4', memory: '8Gi' },
    conditions: [{ type: 'Ready', status: 'True' }],
  },
});

function pod(name: string, over: { spec?: object; status?: object } = {}): KubeObject {
  const container = { name: 'a', image: 'a', resources: { requests: { cpu: '1', memory: '2Gi' } } };
  return {
    metadata: meta(name, { namespace: 'shop' }),
    spec: { containers: [container], ...over.spec },
    status: { phase: 'Pending', ...over.status },
  };
}

const empty: ClusterObjects = { leases: [], claims: [], nodes: [], pods: [], pools: [] };
const statusOf = (over: Partial<ClusterObjects>) => clusterStatus({ ...empty, ...over }, nowMs);
const textOf = (over: Partial<ClusterObjects>, width?: number): string =>
  statusText(statusOf(over), width === undefined ? {} : { width });

test('an empty cluster says so in each section, instead of headers alone', () =>
  expect(textOf({})).toBe(`0 nodes, $0.0000/h ($0 a month); no pod waits

SERVICES
no Lease of a Dovetail service: none has run here, or --namespace names another place

POOLS
no NodePool, and no node of ours

WAITING PODS
every pod has a node

LAST ROUNDS
not read
`));

test('a pool has the fill and the price of its nodes, and claims on their way', () => {
  const text = textOf({
    pools: [{ metadata: meta('default') }],
    claims: [claim('a', '0.1000', 'n1'), claim('b', '~0.2000')],
    nodes: [node('n1'), node('not-ours')],
    pods: [pod('web', { spec: { nodeName: 'n1' }, status: { phase: 'Running' } })],
  });
  expect(text).toContain('1 node, ~$0.3000/h (~$219 a month); no pod waits');
  expect(text).toMatch(/^default +1 +1 +1 +0 +25 % +25 % +~0\.3000$/m);
});

test('a pod that has ended fills no node', () => {
  const pods = [pod('job', { spec: { nodeName: 'n1' }, status: { phase: 'Succeeded' } })];
  const { total } = statusOf({ claims: [claim('a', '0.1', 'n1')], nodes: [node('n1')], pods });
  expect(total.cpu).toEqual({ requested: 0, allocatable: 4_000 });
});

test('a sum says that it leaves out claims of unknown price', () =>
  expect(textOf({ claims: [claim('a', undefined)] })).toContain(
    'without 1 claim of unknown price',
  ));

test('a pool without nodes is shown', () =>
  expect(textOf({ pools: [{ metadata: meta('idle') }] })).toMatch(/^idle +0 +0/m));

test.each([
  ['EKS Auto Mode', { group: 'eks.amazonaws.com', kind: 'NodeClass', name: 'default' }],
  ['our kind in another group', { group: 'example.com', kind: 'EC2NodeClass', name: 'default' }],
])('pools and claims of %s are left out', (_provider, nodeClassRef) => {
  const foreign = { ...claim('b', '0.2000', 'n2'), spec: { nodeClassRef, requirements: [] } };
  const template = { spec: { nodeClassRef, requirements: [] } };
  const { pools, total } = statusOf({
    pools: [
      { metadata: meta('default') },
      { metadata: meta('system'), spec: { template } },
      { metadata: meta('general-purpose'), spec: { template } },
    ],
    claims: [claim('a', '0.1000', 'n1'), foreign],
    nodes: [node('n1'), node('n2')],
  });
  expect(pools.map(({ pool, nodes }) => [pool, nodes])).toEqual([['NodePool/default', 1]]);
  expect(total).toMatchObject({ nodes: 1, priceMicrosPerHour: 100_000 });
});

test.each([
  [
    'renewed in time',
    lease('dovetail-reaper', 'r-1', 3),
    false,
    /^reaper +dovetail +3s ago +r-1$/m,
  ],
  ['run out', lease('dovetail-reaper', 'r-1', 90), true, /1m 30s ago +none: r-1 no longer renews/],
  ['given up', lease('dovetail-reaper', '', 1), true, /1s ago +none: no replica leads/],
])('a Lease that is %s', (_name, one, overdue, line) => {
  expect(statusOf({ leases: [one] }).services).toMatchObject([{ name: 'reaper', overdue }]);
  expect(textOf({ leases: [one] })).toMatch(line);
});

test('solvers, which have no Lease, are told of by their queue', () =>
  expect(statusText({ ...statusOf({}), batches: { waiting: 3, taken: 2 } })).toContain(
    '\nsolvers: batches that wait: 3, being planned: 2\n',
  ));

test('Leases of others are left out', () =>
  expect(statusOf({ leases: [lease('kube-scheduler', 'x', 1)] }).services).toEqual([]));

test('waiting pods come in order of time, each with its reason', () => {
  const message = '0/3 nodes are available: 3 Insufficient cpu.';
  const conditions = [{ type: 'PodScheduled', status: 'False', message }];
  const pods = [
    pod('late'),
    { ...pod('early', { status: { conditions } }) },
    pod('gated', { spec: { schedulingGates: [{ name: 'quota' }] } }),
    pod('placed', { spec: { nodeName: 'n1' } }),
    pod('foreign', { spec: { schedulerName: 'own' } }),
    pod('refused', { spec: { schedulerName: 'own' }, status: { conditions } }),
  ].map((one, index) => ({
    ...one,
    metadata: {
      ...one.metadata,
      creationTimestamp: ago([10, 4_000, 100, 9_000, 5, 4][index] ?? 0),
    },
  }));
  expect(statusOf({ pods }).waiting.map(({ pod: name, why }) => [name, why])).toEqual([
    ['shop/early', `kube-scheduler: ${message}`],
    ['shop/gated', 'held by scheduling gate quota'],
    ['shop/late', 'kube-scheduler has not tried it yet'],
    [
      'shop/foreign',
      'scheduler own has not said yet that it finds no room; a node is planned for once it does',
    ],
    ['shop/refused', `own: ${message} (left to scheduler own, which alone binds it)`],
  ]);
  expect(textOf({ pods })).toMatch(/^shop\/early +1h 6m +kube-scheduler: 0\/3/m);
});

test('many waiting pods are counted, and JSON has them all', () => {
  const pods = Array.from({ length: 25 }, (_, index) => pod(`p${String(index)}`));
  expect(textOf({ pods })).toContain('and 5 more pods: -o json lists all\n');
  expect(statusOf({ pods }).waiting).toHaveLength(25);
});

test('no line of a table is longer than the terminal', () => {
  const why = { type: 'PodScheduled', status: 'False', message: 'x'.repeat(300) };
  const pods = [pod('web', { status: { conditions: [why] } })];
  const [, table = ''] = textOf({ pods }, 80).split('WAITING PODS\n');
  for (const line of table.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
});

test('JSON names its form and version', () =>
  expect(statusOf({})).toMatchObject({ schema: 'dovetail.sh/status/v1', time: ago(0) }));
