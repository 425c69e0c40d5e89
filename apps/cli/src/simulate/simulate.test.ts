import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

import { afterAll, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';

import type { SimulationResult } from './result.js';
import { runSimulate, type SimulateRequest } from './run.js';

const dir = mkdtempSync(join(tmpdir(), 'dovetail-cli-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
let serial = 0;
/** Writes files into a new folder and returns the folder. */
function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = join(dir, String((serial += 1)));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

const offering = (
  capacityType: string,
  zone: string,
  price: number,
  more: object = {},
): object => ({
  Price: price,
  Available: true,
  ...more,
  Requirements: [
    { key: 'karpenter.sh/capacity-type', operator: 'In', values: [capacityType] },
    { key: 'topology.kubernetes.io/zone', operator: 'In', values: [zone] },
  ],
});
const type = (name: string, cpu: number, price: number, more: object = {}): object => ({
  name,
  architecture: 'amd64',
  operatingSystems: ['linux'],
  resources: { cpu: String(cpu), memory: `${cpu * 4}Gi`, pods: '20' },
  offerings: ['z1', 'z2'].flatMap((zone) => [
    offering('on-demand', zone, price),
    offering('spot', zone, price / 2),
  ]),
  ...more,
});
const catalogText = JSON.stringify([
  type('m5.large', 2, 0.1),
  type('m5.xlarge', 4, 0.19),
  type('m5.2xlarge', 8, 0.4),
]);
const catalog = join(folderOf({ 'types.json': catalogText }), 'types.json');

type Ran = { readonly code: number; readonly out: string; readonly err: string };
async function simulate(
  paths: readonly string[],
  more: Partial<SimulateRequest> = {},
): Promise<Ran> {
  let out = '';
  let err = '';
  const request: SimulateRequest = {
    paths,
    catalog,
    output: 'json',
    budgetMs: 0,
    boundMs: 0,
    seed: 1,
    hostnameSpread: 'balanced',
    preferences: 'Respect',
    ...more,
  };
  const code = await runSimulate(request, {
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    progress: () => undefined,
  });
  return { code, out, err };
}
const resultOf = (ran: Ran): SimulationResult => JSON.parse(ran.out) as SimulationResult;

const pool = (
  more = '',
  requirements = '[{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]',
): string => `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    metadata: {labels: {team: a}}
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements: ${requirements}
      taints: []
${more}`;
const workload = (kind: string, spec: string, apiVersion = 'apps/v1'): string => `
apiVersion: ${apiVersion}
kind: ${kind}
metadata: {name: web}
spec:
${spec}`;
const template = (cpu: string, indent = '  '): string =>
  [
    'template:',
    '  metadata: {labels: {app: web}}',
    '  spec:',
    '    containers:',
    '      - name: c',
    '        resources:',
    '          requests:',
    `            cpu: ${cpu}`,
  ]
    .map((line) => `${indent}${line}`)
    .join('\n');
const pod = (name: string, cpu: string, spec = ''): string => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}}
spec:
  containers:
    - name: c
      resources:
        requests: {cpu: ${cpu}, memory: 512M}
${spec}`;

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
      resultOf(await simulate([folder], { boundMs: 20_000 })).cost,
    ];
    expect(tight.bound).toBe('integer-aggregate');
    expect(tight.lowerBound).toBeGreaterThan(quick.lowerBound);
    expect([tight.lowerBound, tight.gap]).toEqual([tight.hourly, 0]);
  }, 30_000);
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
        { boundMs: 20_000 },
      ),
    );
    expect([unschedulable.length, cost.lowerBound <= cost.hourly]).toEqual([1, true]);
  }, 30_000);
});

describe('the charge per node', () => {
  const folder = folderOf({
    'all.yaml': [pool(), pod('a', '1200m'), pod('b', '1200m')].join('\n---\n'),
  });
  test('is told beside prices that leave it out, and its bound holds for as few nodes', async () => {
    const more = { boundMs: 20_000, sizing: { nodeChargeMicrosPerHour: 20_000 } };
    const { cost, newNodes } = resultOf(await simulate([folder], more));
    expect(cost.nodeCharge).toBe(0.02);
    expect(cost.hourly).toBeCloseTo(newNodes.reduce((sum, { price }) => sum + price, 0));
    expect(cost.lowerBound).toBeLessThanOrEqual(cost.hourly);
    const { out } = await simulate([folder], { ...more, output: 'table' });
    expect(out).toContain('with as few nodes; plans compared at $0.0200/h more for each node');
  }, 30_000);
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

describe('workloads stand for their pods', () => {
  test.each<[string, string, readonly string[]]>([
    [
      'a Deployment',
      workload('Deployment', `  replicas: 2\n${template('100m')}`),
      ['default/web-0', 'default/web-1'],
    ],
    ['a ReplicaSet of one', workload('ReplicaSet', template('100m')), ['default/web-0']],
    [
      'a StatefulSet',
      workload('StatefulSet', `  replicas: 2\n${template('100m')}`),
      ['default/web-0', 'default/web-1'],
    ],
    [
      'a workload scaled to nothing',
      workload('Deployment', `  replicas: 0\n${template('100m')}`),
      [],
    ],
    [
      'a Job',
      workload('Job', `  parallelism: 3\n  completions: 2\n${template('100m')}`, 'batch/v1'),
      ['default/web-0', 'default/web-1'],
    ],
    ['a suspended Job', workload('Job', `  suspend: true\n${template('100m')}`, 'batch/v1'), []],
    [
      'a CronJob: one run',
      workload(
        'CronJob',
        `  schedule: "* * * * *"\n  jobTemplate:\n    spec:\n      parallelism: 2\n${template('100m', '      ')}`,
        'batch/v1',
      ),
      ['default/web-0', 'default/web-1'],
    ],
  ])('%s', async (_name, text, pods) => {
    const ran = await simulate([folderOf({ 'all.yaml': [pool(), text].join('\n---\n') })]);
    expect(ran).toMatchObject({ code: 0 });
    expect(resultOf(ran).newNodes.flatMap((node) => node.pods)).toEqual(pods);
  });
  test('a DaemonSet takes its room on every new node', async () => {
    const result = resultOf(
      await simulate([
        folderOf({
          'all.yaml': [pool(), pod('a', '1500m'), workload('DaemonSet', template('500m'))].join(
            '\n---\n',
          ),
        }),
      ]),
    );
    expect(
      result.newNodes.map((node) => [node.instanceTypes[0], node.requests['cpu'], node.pods]),
    ).toEqual([['m5.xlarge', '2', ['default/a']]]);
  });
  test.each([
    [
      'the defaults of a LimitRange',
      'apiVersion: v1\nkind: LimitRange\nmetadata: {name: l, namespace: default}\nspec: {limits: [{type: Container, default: {cpu: 500m}}]}\n',
    ],
    [
      'the overhead of a RuntimeClass',
      'apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: vm}\nhandler: vm\noverhead: {podFixed: {cpu: 500m}}\n',
    ],
  ])('a DaemonSet and a Deployment ask for %s, as their pods will', async (_what, object) => {
    const bare =
      '  template:\n    metadata: {labels: {app: web}}\n    spec:\n      runtimeClassName: vm\n      containers: [{name: c}]\n';
    const texts = [
      pool(),
      object,
      workload('Deployment', `  replicas: 2\n${bare}`),
      workload('DaemonSet', bare),
    ];
    const result = resultOf(await simulate([folderOf({ 'all.yaml': texts.join('\n---\n') })]));
    expect(result.newNodes.map((node) => node.requests['cpu'])).toEqual(['1500m']);
  });
  test('pods that are there already are not asked for again', async () => {
    const list = {
      apiVersion: 'v1',
      kind: 'List',
      items: [
        {
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          metadata: { name: 'web', uid: 'd' },
          spec: { replicas: 3, template: { metadata: {}, spec: { containers: [{ name: 'c' }] } } },
        },
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          metadata: {
            name: 'web-1',
            uid: 'r',
            ownerReferences: [
              {
                apiVersion: 'apps/v1',
                kind: 'Deployment',
                name: 'web',
                uid: 'd',
                controller: true,
              },
            ],
          },
          spec: { replicas: 3, template: { spec: {} } },
        },
        ...['x', 'y'].map((name) => ({
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: {
            name,
            uid: name,
            ownerReferences: [
              {
                apiVersion: 'apps/v1',
                kind: 'ReplicaSet',
                name: 'web-1',
                uid: 'r',
                controller: true,
              },
            ],
          },
          spec: { containers: [{ name: 'c' }] },
        })),
      ],
    };
    const result = resultOf(
      await simulate([folderOf({ 'pool.yaml': pool(), 'dump.json': JSON.stringify(list) })]),
    );
    expect(result.newNodes.flatMap((node) => node.pods)).toEqual([
      'default/web-2',
      'default/x',
      'default/y',
    ]);
  });
  test('the last of two of one name counts, and that is said', async () => {
    const ran = await simulate([
      folderOf({
        'a.yaml': pool(),
        'b.yaml': workload('Deployment', `  replicas: 5\n${template('1')}`),
        'c.yaml': workload('Deployment', `  replicas: 1\n${template('1')}`),
      }),
    ]);
    expect(resultOf(ran).stats.pods).toBe(1);
    expect(ran.err).toContain('Deployment default/web is given more than once');
  });
  test('priority and runtime classes are applied as the API server applies them', async () => {
    const classes =
      'apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: vm}\nhandler: vm\noverhead: {podFixed: {cpu: 500m}}\n';
    const result = resultOf(
      await simulate([
        folderOf({
          'all.yaml': [pool(), classes, pod('a', '1', '  runtimeClassName: vm')].join('\n---\n'),
        }),
      ]),
    );
    expect(result.newNodes.map((node) => node.requests['cpu'])).toEqual(['1500m']);
  });
  test('kinds that play no part are named', async () =>
    expect(
      (
        await simulate([
          folderOf({
            'all.yaml': [pool(), 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n'].join(
              '\n---\n',
            ),
          }),
        ])
      ).err,
    ).toContain('ConfigMap (1)'));
});

describe('bad input ends with 64 and names', () => {
  test.each<[string, string, string, string | RegExp]>([
    [
      'a quantity',
      'pods.yaml',
      pod('a', 'lots'),
      /pods\.yaml:9: spec\.containers\[0\]\.resources\.requests\.cpu: "lots" cannot be used here: write a Kubernetes quantity/,
    ],
    [
      'a field of a template',
      'web.yaml',
      workload('Deployment', template('lots')),
      /web\.yaml:13: spec\.template\.spec\.containers\[0\]\.resources\.requests\.cpu: "lots"/,
    ],
    [
      'a field of a CronJob',
      'web.yaml',
      workload('CronJob', `  jobTemplate:\n    spec:\n${template('lots', '      ')}`, 'batch/v1'),
      /web\.yaml:\d+: spec\.jobTemplate\.spec\.template\.spec\.containers\[0\]\.resources\.requests\.cpu/,
    ],
    [
      'replicas',
      'web.yaml',
      workload('Deployment', `  replicas: many\n${template('1')}`),
      /web\.yaml:6: spec\.replicas: "many" cannot be used here: write an integer/,
    ],
    [
      'a field that is missing, by its parent',
      'pods.yaml',
      'apiVersion: v1\nkind: Pod\nmetadata:\n  labels: {}\n',
      /pods\.yaml:3: metadata\.name: \(absent\) cannot be used here: this field is required/,
    ],
    [
      'a second document',
      'all.yaml',
      `${pod('a', '1')}\n---\n${pod('b', 'x')}`,
      /all\.yaml:20: spec\.containers/,
    ],
    [
      'a pool',
      'pool.yaml',
      pool('  weight: 0'),
      /pool\.yaml:12: spec\.weight: 0 cannot be used here: write an integer, at least 1, at most 100/,
    ],
    [
      'a restricted label',
      'pool.yaml',
      pool('', '[{key: karpenter.sh/nodepool, operator: Exists}]'),
      /pool\.yaml:10: spec\.template\.spec\.requirements\[0\]\.key: "karpenter\.sh\/nodepool"/,
    ],
    [
      'another version',
      'pool.yaml',
      'apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: a}\n',
      /pool\.yaml:1: apiVersion: "karpenter\.sh\/v1beta1" cannot be used here: write NodePool in karpenter\.sh\/v1/,
    ],
    [
      'an object without a kind',
      'x.yaml',
      'apiVersion: v1\nmetadata: {name: a}\n',
      /x\.yaml:1: kind: \(absent\)/,
    ],
    [
      'a text instead of an object',
      'x.yaml',
      'hello\n',
      /x\.yaml:1: "hello" cannot be used here: write a Kubernetes object/,
    ],
    [
      'YAML that is none',
      'x.yaml',
      'apiVersion: v1\nkind: [Pod\nmetadata: {}\n',
      /x\.yaml:[23]: this is not valid YAML/,
    ],
    [
      'JSON that is none',
      'x.json',
      '{"kind": "Pod",\n "metadata": }\n',
      /x\.json:2: this is not valid JSON/,
    ],
    [
      'an item of a list',
      'x.json',
      JSON.stringify(
        {
          apiVersion: 'v1',
          kind: 'List',
          items: [{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 5 } }],
        },
        undefined,
        1,
      ),
      /x\.json:9: items\[0\]\.metadata\.name: 5 cannot be used here/,
    ],
    [
      'a key that holds dots',
      'x.yaml',
      'apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  nodeSelector:\n    a: b\n    topology.kubernetes.io/zone: 7\n  containers:\n    - name: c\n',
      /x\.yaml:8: spec\.nodeSelector\.topology\.kubernetes\.io\/zone: 7/,
    ],
  ])('%s', async (_name, file, text, message) => {
    const ran = await simulate([folderOf({ [file]: text })]);
    expect(ran).toMatchObject({ code: 64, out: '' });
    expect(ran.err).toMatch(message);
  });
  test('a path that is not there', async () =>
    expect(await simulate([join(dir, 'nowhere')])).toMatchObject({
      code: 64,
      err: expect.stringMatching(/nowhere: there is no such file or folder/),
    }));
  test('a folder without manifests', async () =>
    expect(await simulate([folderOf({ 'readme.md': '' })])).toMatchObject({
      code: 64,
      err: expect.stringContaining('holds no manifests'),
    }));
  test('a catalog', async () => {
    const folder = folderOf({
      'all.yaml': pool(),
      'types.json': JSON.stringify([type('a', 1, 1, { resources: { cpu: 'x' } })]),
      'broken.json': '[\n{]',
      'price.json': JSON.stringify(
        [type('a', 1, 1, { offerings: [offering('spot', 'z', -1)] })],
        undefined,
        1,
      ),
    });
    const file = join(folder, 'all.yaml');
    expect((await simulate([file], { catalog: join(folder, 'types.json') })).err).toMatch(
      /types\.json:1: \[0\]\.resources\.cpu: "x"/,
    );
    expect((await simulate([file], { catalog: join(folder, 'broken.json') })).err).toMatch(
      /broken\.json:2: the catalog is not valid JSON/,
    );
    expect((await simulate([file], { catalog: join(folder, 'price.json') })).err).toMatch(
      /price\.json:\d+: \[0\]\.offerings\[0\]\.Price: -1/,
    );
  });
});

describe('the catalog', () => {
  test('may be compressed', async () => {
    const file = join(folderOf({ keep: '' }), 'types.json.gz');
    writeFileSync(file, gzipSync(catalogText));
    expect(
      await simulate([folderOf({ 'all.yaml': [pool(), pod('a', '1')].join('\n---\n') })], {
        catalog: file,
      }),
    ).toMatchObject({ code: 0 });
  });
  test("in the provider's format loses 100m CPU and 10Mi to each node", async () => {
    const firstTypes = async (cpu: string): Promise<readonly string[]> =>
      resultOf(
        await simulate([folderOf({ 'all.yaml': [pool(), pod('a', cpu)].join('\n---\n') })]),
      ).newNodes.flatMap((node) => node.instanceTypes[0] ?? []);
    expect([await firstTypes('1900m'), await firstTypes('1901m')]).toEqual([
      ['m5.large'],
      ['m5.xlarge'],
    ]);
  });
  test('does not offer what it calls unavailable', async () => {
    const file = join(
      folderOf({
        'types.json': JSON.stringify([
          type('cheap', 4, 0.01, {
            offerings: [offering('on-demand', 'z1', 0.01, { Available: false })],
          }),
          type('dear', 4, 1),
        ]),
      }),
      'types.json',
    );
    expect(
      resultOf(
        await simulate([folderOf({ 'all.yaml': [pool(), pod('a', '1')].join('\n---\n') })], {
          catalog: file,
        }),
      ).newNodes[0]?.instanceTypes,
    ).toEqual(['dear']);
  });
  test.each([
    ['us-east-1', false],
    ['eu-west-1', true],
  ])('of %s has estimated prices: %s, and says so', async (region, estimated) => {
    const folder = folderOf({
      'all.yaml': [
        pool().replace(
          'karpenter.kwok.sh, kind: KWOKNodeClass',
          'karpenter.k8s.aws, kind: EC2NodeClass',
        ),
        pod('a', '1'),
      ].join('\n---\n'),
    });
    const result = resultOf(await simulate([folder], { catalog: region }));
    expect([result.cost.estimated, result.newNodes[0]?.priceEstimated]).toEqual([
      estimated,
      estimated,
    ]);
    expect(
      (await simulate([folder], { catalog: region, output: 'table' })).out.includes('~ estimated'),
    ).toBe(estimated);
  });
  test("knows the provider's labels, and AWS' for types of AWS", async () => {
    const chosen = async (key: string, value: string): Promise<readonly string[]> =>
      resultOf(
        await simulate([
          folderOf({
            'all.yaml': [pool(), pod('a', '1', `  nodeSelector: {${key}: "${value}"}`)].join(
              '\n---\n',
            ),
          }),
        ]),
      ).newNodes.flatMap((node) => node.instanceTypes);
    expect([
      await chosen('karpenter.kwok.sh/instance-cpu', '4'),
      await chosen('karpenter.k8s.aws/instance-size', '2xlarge'),
    ]).toEqual([['m5.xlarge'], ['m5.2xlarge']]);
  });
});

test('an explanation says where a pod goes, and in JSON stands beside the plan', async () => {
  const folder = folderOf({
    'all.yaml': [pool(), pod('a', '1'), pod('big', '64')].join('\n---\n'),
  });
  expect((await simulate([folder], { explain: 'a', output: 'table' })).out).toMatch(
    /default\/a goes to a new node of NodePool\/default \(bin-0\), alone\n6 ways to buy it, cheapest first:\n {2}m5\.large +z1 +on-demand +\$0\.1000/,
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

const root = fileURLToPath(new URL('../../../../', import.meta.url));
describe('the scenarios, offline', () => {
  const scenario = (name: string): string => join(root, 'tests/scenarios', name);
  test('inflate-memory: one node of the cheapest type that holds 5 GiB', async () => {
    const result = resultOf(await simulate([scenario('inflate-memory')], { catalog: 'us-west-2' }));
    expect(
      result.newNodes.map((node) => [node.nodePool, node.capacityTypes, node.pods.length]),
    ).toEqual([['general-purpose', ['on-demand'], 5]]);
  });
  test.each(['r6gd.xlarge', 't4g.2xlarge'])(
    'layered-constraints: exactly one %s in us-west-2a',
    async (instanceType) => {
      const result = resultOf(
        await simulate(
          [
            join(scenario('layered-constraints'), 'provisioner.yaml'),
            join(scenario('layered-constraints'), `workload-${instanceType}.yaml`),
          ],
          { catalog: 'us-west-2' },
        ),
      );
      expect(
        result.newNodes.map((node) => [
          node.instanceTypes,
          node.zones,
          node.capacityTypes,
          node.pods.length,
        ]),
      ).toEqual([[[instanceType], ['us-west-2a'], ['on-demand'], 3]]);
    },
  );
  test('spot-three-zones: three nodes in three zones, which may be spot', async () => {
    const result = resultOf(
      await simulate([scenario('spot-three-zones')], { catalog: 'eu-west-1' }),
    );
    expect(
      result.newNodes
        .map((node) => [node.zones, node.capacityTypes.includes('spot'), node.pods.length])
        .toSorted(),
    ).toEqual([
      [['eu-west-1a'], true, 1],
      [['eu-west-1b'], true, 1],
      [['eu-west-1c'], true, 1],
    ]);
  });
  test('spot-type-list: only the listed types', async () => {
    const result = resultOf(await simulate([scenario('spot-type-list')], { catalog: 'us-east-1' }));
    expect(result.unschedulable).toEqual([]);
    expect(
      result.newNodes
        .flatMap((node) => node.instanceTypes)
        .filter(
          (one) => !['m5.large', 'm5a.large', 'm5.xlarge', 'm6i.large', 'c5.xlarge'].includes(one),
        ),
    ).toEqual([]);
  });
  test('team1-zonal-spread: nodes of team1, evenly over the zones', async () => {
    const result = resultOf(
      await simulate([scenario('team1-zonal-spread')], { catalog: 'eu-west-1' }),
    );
    expect(
      new Set(result.newNodes.map((node) => `${node.nodePool} ${node.capacityTypes.join()}`)),
    ).toEqual(new Set(['team1 on-demand']));
    expect(result.cost).toMatchObject({ sized: true, gap: null });
  });
  test('team1-zonal-spread: says that the bound does not apply to nodes of some sizes', async () => {
    const { out } = await simulate([scenario('team1-zonal-spread')], {
      catalog: 'eu-west-1',
      output: 'table',
    });
    expect(out).toContain('with nodes sized by a part of the types (see --explain)');
    expect(out).not.toContain('least possible');
  });
});
test.each(['web', 'mixed'])('the example %s plans as its comments say', async (name) => {
  const result = resultOf(await simulate([join(root, 'examples', name)], { catalog: 'us-east-1' }));
  expect(result.unschedulable.map((one) => one.pod)).toEqual(
    name === 'mixed' ? ['default/trainer-0'] : [],
  );
});
