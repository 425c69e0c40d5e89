import { expect, test } from 'vitest';

import type { SimulateRequest } from '../simulate/run.js';
import { folderOf, pod, pool, simulate } from '../simulate/testing/simulating.js';
import { runConsolidate } from './command.js';
import type { ConsolidationResult } from './result.js';

const node = (name: string, type: string, cpu: number, more = ''): string => `
apiVersion: v1
kind: Node
metadata:
  name: ${name}
  uid: uid-${name}
  labels:
    karpenter.sh/nodepool: default
    karpenter.sh/registered: 'true'
    karpenter.sh/initialized: 'true'
    karpenter.sh/capacity-type: on-demand
    node.kubernetes.io/instance-type: ${type}
    topology.kubernetes.io/zone: z1
    kubernetes.io/hostname: ${name}
    kubernetes.io/arch: amd64
    kubernetes.io/os: linux
    team: a
${more}
status:
  capacity: {cpu: '${String(cpu)}', memory: ${String(cpu * 4)}Gi, pods: '20'}
  allocatable: {cpu: '${String(cpu)}', memory: ${String(cpu * 4)}Gi, pods: '20'}
  conditions: [{type: Ready, status: 'True'}]`;

const running = (name: string, cpu: string, on: string, annotations = '{}'): string =>
  pod(name, cpu, `  nodeName: ${on}\nstatus: {phase: Running}`).replace(
    `metadata: {name: ${name}}`,
    `metadata: {name: ${name}, labels: {app: web}, annotations: ${annotations}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: web, controller: true}]}`,
  );

const cluster = (pods: readonly string[], disruption = ''): readonly string[] => [
  folderOf({
    'cluster.yaml': [
      pool(disruption),
      node('one', 'm5.2xlarge', 8),
      node('two', 'm5.xlarge', 4),
      ...pods,
    ].join('\n---\n'),
  }),
];

const twoPods = [running('a', '800m', 'one'), running('b', '800m', 'two')];
const consolidated = (
  paths: readonly string[],
  { moveCost, ...more }: Partial<SimulateRequest> & { readonly moveCost?: number } = {},
) =>
  simulate(paths, { budgetMs: 60_000, ...more }, (request, streams) =>
    runConsolidate({ ...request, spotToSpot: false, moveCost }, streams),
  );

const resultFor = async (
  ...given: Parameters<typeof consolidated>
): Promise<ConsolidationResult> => {
  const ran = await consolidated(...given);
  expect(ran.code).toBe(0);
  return JSON.parse(ran.out) as ConsolidationResult;
};

const anyDisruption = `  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 1h, budgets: [{nodes: '100%'}]}`;

test('--consolidate replaces two large nodes by one that is small enough', async () => {
  const result = await resultFor(cluster(twoPods, anyDisruption));
  expect(result).toMatchObject({
    commands: [
      {
        nodesOut: [
          { name: 'one', price: 0.4 },
          { name: 'two', price: 0.19 },
        ],
        nodesIn: [{ instanceTypes: ['m5.large'], price: 0.1 }],
        moves: [
          { pod: 'default/a', from: 'one', to: 'bin-0' },
          { pod: 'default/b', from: 'two', to: 'bin-0' },
        ],
        cost: { before: 0.59, after: 0.1 },
      },
    ],
    cost: { before: 0.59, after: 0.1, lowerBound: expect.any(Number) },
    nodes: { before: 2, after: 1 },
    evictions: 2,
    stats: { ended: 'complete' },
  });
  expect(result.cost.lowerBound).toBeLessThanOrEqual(0.1);
});

test.each<[number, readonly string[]]>([
  [0.05, ['one', 'two']],
  // Both save $0.49 together. The first alone saves $0.40, and moves one pod.
  [0.3, ['one']],
  [0.4, []],
])('--consolidate at --move-cost %d gives up %j', async (moveCost, gone) => {
  const { commands } = await resultFor(cluster(twoPods, anyDisruption), { moveCost });
  expect(commands.flatMap(({ nodesOut }) => nodesOut.map(({ name }) => name))).toEqual(gone);
});

const doNotDisrupt = "{karpenter.sh/do-not-disrupt: 'true'}";
const guarded = `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {selector: {matchLabels: {app: web}}, maxUnavailable: 0}
status: {disruptionsAllowed: 0}`;
const whenEmpty = `  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 0s}`;
const spent = `  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 0s, budgets: [{nodes: '0'}]}`;

test.each<[string, readonly string[], string]>([
  [
    'protected pods',
    [running('a', '1', 'one', doNotDisrupt), running('b', '1', 'two', doNotDisrupt)],
    anyDisruption,
  ],
  ['pods that a PodDisruptionBudget holds', [...twoPods, guarded], anyDisruption],
  ['a pool that consolidates empty nodes only', twoPods, whenEmpty],
  ['a pool whose budget is spent', twoPods, spent],
])('--consolidate leaves the nodes of %s', async (_what, pods, disruption) =>
  expect((await resultFor(cluster(pods, disruption))).commands).toEqual([]),
);

test('--consolidate keeps the room of pods that wait', async () => {
  const waiting = pod('waits', '3');
  const result = await resultFor(cluster([...twoPods, waiting], anyDisruption));
  const out = result.commands.flatMap(({ nodesOut }) => nodesOut.map(({ name }) => name));
  // The pod that waits fits on both nodes, so one of them stays for it.
  expect(out).toHaveLength(1);
});

test('the table of --consolidate shows commands and what they save', async () => {
  const ran = await consolidated(cluster(twoPods, anyDisruption), { output: 'table' });
  expect(ran.out).toMatch(/^1 +one, two +m5.large +2 +\$0.5900 +\$0.1000 +\$0.4900/m);
  expect(ran.out).toContain('2 nodes become 1, $0.5900/h becomes $0.1000/h (-83.1 %)');
});

test('--fail-over-cost compares the price after all commands', async () => {
  const paths = cluster(twoPods, anyDisruption);
  expect((await consolidated(paths, { failOverCost: 0.05 })).code).toBe(3);
  expect((await consolidated(paths, { failOverCost: 0.2 })).code).toBe(0);
});
