import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

import type { SimulationResult } from './result.js';
import { type SimulateRequest } from './run.js';
import {
  folderOf,
  pod,
  pool,
  resultOf,
  simulate,
  template,
  workload,
} from './testing/simulating.js';

describe('the result', () => {
  test('has the documented shape', async () => {
    const ran = await simulate([
      folderOf({
        'pool.yaml': pool(),
        'pods.yaml': [pod('a', '1500m'), pod('b', '200m')].join('\n---\n'),
      }),
    ]);
    expect(ran).toMatchObject({ code: 0, err: '' });
    const result = resultOf(ran);
    expect(result.cost.gap === null || result.cost.gap >= 0).toBe(true);
    expect(result).toEqual({
      schema: 'dovetail.sh/simulate/v1',
      problems: [],
      newNodes: [
        {
          nodePool: 'default',
          poolKind: 'NodePool',
          instanceTypes: ['m5.large', 'm5.xlarge', 'm5.2xlarge'],
          zones: ['z1', 'z2'],
          capacityTypes: ['on-demand'],
          price: 0.1,
          priceEstimated: false,
          requests: { cpu: '1700m', memory: '1024M', pods: '2' },
          labels: expect.objectContaining({ team: 'a' }),
          taints: [],
          pods: ['default/a', 'default/b'],
        },
      ],
      existingNodes: [],
      unschedulable: [],
      cost: {
        hourly: 0.1,
        nodeCharge: 0.005,
        assumedRequests: {},
        lowerBound: expect.any(Number),
        gap: result.cost.gap,
        bound: expect.any(String),
        sized: false,
        estimated: false,
      },
      stats: {
        pods: 2,
        classes: 2,
        types: 3,
        milliseconds: expect.any(Number),
        steps: expect.any(Number),
      },
    });
  });
  test('is the same in YAML', async () => {
    const folder = folderOf({ 'all.yaml': [pool(), pod('a', '1')].join('\n---\n') });
    const yaml = parse((await simulate([folder], { output: 'yaml' })).out) as SimulationResult;
    const json = resultOf(await simulate([folder]));
    expect({ ...yaml, stats: 0 }).toEqual({ ...json, stats: 0 });
  });
  test('as a table names types, price and what was not placed', async () => {
    const { out, code } = await simulate(
      [folderOf({ 'all.yaml': [pool(), pod('a', '1'), pod('big', '64')].join('\n---\n') })],
      { output: 'table' },
    );
    expect(code).toBe(2);
    expect(out).toMatch(/NodePool\/default +m5\.large \+2 types +z1,z2 +on-demand +\$0\.1000/);
    expect(out).toMatch(/default\/big +resources-too-large/);
    expect(out).toMatch(/1 of 2 pods placed; 1 new node for \$0\.1000\/h/);
  });
  test('uses nodes that are there, and counts what runs on them', async () => {
    const node = `
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {kubernetes.io/arch: amd64}}
status:
  allocatable: {cpu: "2", memory: 4Gi, pods: "10"}
  conditions: [{type: Ready, status: "True"}]
`;
    const result = resultOf(
      await simulate([
        folderOf({
          'all.yaml': [
            pool(),
            node,
            pod('running', '1', '  nodeName: n1'),
            pod('a', '900m'),
            pod('b', '900m'),
          ].join('\n---\n'),
        }),
      ]),
    );
    expect(result.existingNodes).toEqual([{ name: 'n1', pods: ['default/a'] }]);
    expect(result.newNodes.map((one) => one.pods)).toEqual([['default/b']]);
  });
});

describe('the lower bound', () => {
  // Two pods of 1.2 cores need two nodes of 2 cores. The bound by whole nodes knows this; the bound
  // by prices of resources does not.
  const folder = folderOf({
    'all.yaml': [pool(), pod('a', '1200m'), pod('b', '1200m')].join('\n---\n'),
  });
  test('without time for it is the quick one, which every plan has', async () =>
    expect(resultOf(await simulate([folder])).cost).toMatchObject({ bound: 'aggregate-lp' }));
  test('with time is the largest that linear programs prove, and names which', async () => {
    const [quick, tight] = [
      resultOf(await simulate([folder])).cost,
      resultOf(await simulate([folder], { boundSteps: 600_000 })).cost,
    ];
    expect(tight.bound).toBe('integer-aggregate');
    expect(tight.lowerBound).toBeGreaterThan(quick.lowerBound);
    expect([tight.lowerBound, tight.gap]).toEqual([tight.hourly, 0]);
  });
  test('is that of the pods that are placed, so that pods left out do not raise it', async () => {
    const { cost, unschedulable } = resultOf(
      await simulate(
        [
          folderOf({
            'all.yaml': [pool('  limits: {cpu: 2}'), pod('a', '1200m'), pod('b', '1200m')].join(
              '\n---\n',
            ),
          }),
        ],
        { boundSteps: 600_000 },
      ),
    );
    expect([unschedulable.length, cost.lowerBound <= cost.hourly]).toEqual([1, true]);
  });
});

describe('the charge per node', () => {
  const folder = folderOf({
    'all.yaml': [pool(), pod('a', '1200m'), pod('b', '1200m')].join('\n---\n'),
  });
  test('is told beside prices that leave it out, and its bound holds for as few nodes', async () => {
    const more = { boundSteps: 600_000, sizing: { nodeChargeMicrosPerHour: 20_000 } };
    const { cost, newNodes } = resultOf(await simulate([folder], more));
    expect(cost.nodeCharge).toBe(0.02);
    expect(cost.hourly).toBeCloseTo(newNodes.reduce((sum, { price }) => sum + price, 0));
    expect(cost.lowerBound).toBeLessThanOrEqual(cost.hourly);
    const { out } = await simulate([folder], { ...more, output: 'table' });
    expect(out).toMatch(/with as few nodes.*\nplans compared at \$0\.0200\/h more for each node/);
  });
});

describe('fifty pods without requests', () => {
  const folder = folderOf({
    'all.yaml': `${pool().replaceAll('kwok.sh, kind: KWOK', 'k8s.aws, kind: EC2')}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 50
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c}]}`,
  });
  test('have at most two nodes of the real types', async () => {
    const { newNodes, unschedulable } = resultOf(
      await simulate([folder], { catalog: 'us-east-1' }),
    );
    expect(unschedulable).toEqual([]);
    expect(newNodes.reduce((sum, { pods }) => sum + pods.length, 0)).toBe(50);
    expect(newNodes.length).toBeLessThanOrEqual(2);
  });
  test('are told to count as more than they request, with the charge per node', async () => {
    const counted = 'new nodes count 25m cpu and 250Mi memory for a pod that requests none';
    const table = await simulate([folder], { catalog: 'us-east-1', output: 'table' });
    expect(table.out).toContain(counted);
    const more = { catalog: 'us-east-1', output: 'table', explain: 'web-7' } as const;
    const { out } = await simulate([folder], more);
    expect(out).toContain(`plans are compared at $0.0050/h more for each node\n${counted}`);
  });
  test('have many of the smallest type where only prices and requests count', async () => {
    const sizing = { nodeChargeMicrosPerHour: 0, fewerNodesPermille: 0, assumedRequests: {} };
    const { newNodes } = resultOf(await simulate([folder], { catalog: 'us-east-1', sizing }));
    expect(newNodes).toHaveLength(13);
  });
});

describe('the exit code', () => {
  const folder = folderOf({ 'all.yaml': [pool(), pod('a', '1')].join('\n---\n') });
  test.each<[string, Partial<SimulateRequest>, number]>([
    ['all placed', {}, 0],
    ['dearer than allowed', { failOverCost: 0.05 }, 3],
    ['as dear as allowed', { failOverCost: 0.1 }, 0],
    ['an unknown catalog', { catalog: 'mars-1' }, 64],
    ['an unknown pod to explain', { explain: 'z' }, 64],
  ])('for %s', async (_name, more, code) =>
    expect((await simulate([folder], more)).code).toBe(code),
  );
  test('for a pod that fits nowhere is 2, with its reasons', async () => {
    const ran = await simulate(
      [folderOf({ 'all.yaml': [pool(), pod('a', '64')].join('\n---\n') })],
      { failOverCost: 0 },
    );
    expect(ran.code).toBe(2);
    expect(resultOf(ran).unschedulable).toEqual([
      {
        pod: 'default/a',
        reasons: [
          expect.objectContaining({ code: 'resources-too-large', message: expect.any(String) }),
        ],
      },
    ]);
  });
});

test.each([60, 80, 120])(
  'on a terminal of %d columns no table is wider, and a narrow one loses columns',
  async (width) => {
    const folder = folderOf({
      'all.yaml': [pool(), pod('a', '1'), pod('big', '64')].join('\n---\n'),
    });
    const { out } = await simulate([folder], { output: 'table', layout: { width } });
    const [nodes = '', unplaced = ''] = out.split('\n\n');
    const lines = [...nodes.split('\n'), ...unplaced.split('\n')];
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
    expect([/PRICE\/H/.test(nodes), / PODS\n/.test(nodes)]).toEqual([true, true]);
    expect(/ZONES/.test(nodes)).toBe(width > 100);
  },
);

test('an explanation says where a pod goes, and in JSON stands beside the plan', async () => {
  const folder = folderOf({
    'all.yaml': [pool(), pod('a', '1'), pod('big', '64')].join('\n---\n'),
  });
  expect((await simulate([folder], { explain: 'a', output: 'table' })).out).toMatch(
    /default\/a goes to a new node of NodePool\/default \(bin-0\), alone\n6 ways to buy it, cheapest first:\n {2}TYPE.*\n {2}m5\.large +z1 +on-demand +\$0\.1000/,
  );
  expect((await simulate([folder], { explain: 'default/big', output: 'table' })).out).toMatch(
    /default\/big cannot be placed:\n {2}resources-too-large/,
  );
  expect(JSON.parse((await simulate([folder], { explain: 'a' })).out)).toMatchObject({
    newNodes: [{}],
    explanation: {
      pod: 'default/a',
      outcome: 'new-node',
      pool: 'NodePool/default',
      options: expect.any(Array),
    },
  });
});

test('the same seed gives the same plan', async () => {
  const folder = folderOf({
    'all.yaml': [pool(), workload('Deployment', `  replicas: 40\n${template('700m')}`)].join(
      '\n---\n',
    ),
  });
  const [first, second] = [
    resultOf(await simulate([folder], { seed: 7 })),
    resultOf(await simulate([folder], { seed: 7 })),
  ];
  expect({ ...first, stats: 0 }).toEqual({ ...second, stats: 0 });
});
