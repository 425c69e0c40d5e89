import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, test } from '@jest/globals';

import type { SimulationResult } from './result.js';
import { runSimulate, type SimulateRequest } from './run.js';

// Every kind of manifest that a simulation reads, and its effect on the plan.

const dir = mkdtempSync(join(tmpdir(), 'dovetail-manifests-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
let serial = 0;
function fileOf(name: string, text: string): string {
  const file = join(dir, `${(serial += 1)}-${name}`);
  writeFileSync(file, text);
  return file;
}

type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: object;
  readonly [key: string]: unknown;
};
const offering = (zone: string, price: number): object => ({
  Price: price,
  Available: true,
  Requirements: [
    { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
    { key: 'topology.kubernetes.io/zone', operator: 'In', values: [zone] },
  ],
});
const catalog = fileOf(
  'types.json',
  JSON.stringify(
    [2, 4].map((cpu) => ({
      name: `m5.${cpu}`,
      architecture: 'amd64',
      operatingSystems: ['linux'],
      resources: { cpu: String(cpu), memory: `${cpu * 4}Gi`, pods: '20' },
      offerings: ['z1', 'z2'].map((zone) => offering(zone, cpu / 10)),
    })),
  ),
);

type Ran = {
  readonly code: number;
  readonly result: SimulationResult;
  readonly out: string;
  readonly err: string;
  readonly progress: readonly string[];
};
async function simulate(
  objects: readonly Manifest[],
  more: Partial<SimulateRequest> = {},
): Promise<Ran> {
  let [out, err] = ['', ''];
  const progress: string[] = [];
  const paths = [
    fileOf('world.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects })),
  ];
  const code = await runSimulate(
    {
      paths,
      catalog,
      output: 'json',
      budgetMs: 0,
      boundMs: 0,
      seed: 1,
      hostnameSpread: 'balanced',
      preferences: 'Respect',
      ...more,
    },
    {
      out: (text) => {
        out += text;
      },
      err: (text) => {
        err += text;
      },
      progress: (text) => {
        progress.push(text);
      },
    },
  );
  return {
    code,
    out,
    err,
    progress,
    result:
      more.output === 'table' || out === ''
        ? ({} as SimulationResult)
        : (JSON.parse(out) as SimulationResult),
  };
}

const nodePool = (spec: object = {}): Manifest => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'default' },
  spec: {
    template: {
      spec: {
        nodeClassRef: { group: 'karpenter.kwok.sh', kind: 'KWOKNodeClass', name: 'default' },
        requirements: [],
      },
    },
    ...spec,
  },
});
const podSpec = (cpu: string, more: object = {}): object => ({
  containers: [{ name: 'c', image: 'c', resources: { requests: { cpu } } }],
  ...more,
});
const pod = (name: string, cpu: string, more: object = {}): Manifest => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: podSpec(cpu, more),
});
const template = (cpu: string, more: object = {}): object => ({
  metadata: { labels: { app: 'web' } },
  spec: podSpec(cpu, more),
});
const workload = (kind: string, spec: object, apiVersion = 'apps/v1'): Manifest => ({
  apiVersion,
  kind,
  metadata: { name: 'web' },
  spec,
});
const zoneTerm = (zone: string): object => ({
  key: 'topology.kubernetes.io/zone',
  operator: 'In',
  values: [zone],
});
const zonesOf = ({ result }: Ran): readonly (readonly string[])[] =>
  result.newNodes.map((node) => node.zones);

describe('storage', () => {
  const storageClass = (zone: string): Manifest => ({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'fast' },
    provisioner: 'ebs.csi.aws.com',
    volumeBindingMode: 'WaitForFirstConsumer',
    allowedTopologies: [
      { matchLabelExpressions: [{ key: 'topology.kubernetes.io/zone', values: [zone] }] },
    ],
  });
  const bound: readonly Manifest[] = [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'data-web-0', annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
      spec: { volumeName: 'pv', storageClassName: 'fast' },
      status: { phase: 'Bound' },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'pv' },
      spec: {
        csi: { driver: 'ebs.csi.aws.com', volumeHandle: 'v' },
        nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [zoneTerm('z1')] }] } },
      },
    },
  ];
  const stateful = (replicas: number): Manifest =>
    workload('StatefulSet', {
      replicas,
      template: template('1500m'),
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: { storageClassName: 'fast' } }],
    });
  test("a StatefulSet's claim templates bring the topologies of their class", async () =>
    expect(
      new Set(zonesOf(await simulate([nodePool(), storageClass('z2'), stateful(2)])).flat()),
    ).toEqual(new Set(['z2'])));
  test('a claim that is bound already keeps its pod in the zone of its volume', async () =>
    expect(
      zonesOf(await simulate([nodePool(), storageClass('z2'), ...bound, stateful(2)])),
    ).toEqual([['z1'], ['z2']]));
  test('a claim template of a class that is not there keeps the pod pending, with the reason', async () => {
    const { code, result } = await simulate([nodePool(), stateful(1)]);
    expect([code, result.unschedulable]).toMatchObject([
      2,
      [{ pod: 'default/web-0', reasons: [{ code: 'volume' }] }],
    ]);
  });
});

describe('workloads', () => {
  test.each<[string, Manifest, number]>([
    [
      'ReplicationController',
      workload('ReplicationController', { replicas: 2, template: template('1') }, 'v1'),
      2,
    ],
    [
      'Job of more completions than run at once',
      workload('Job', { parallelism: 2, completions: 9, template: template('1') }, 'batch/v1'),
      2,
    ],
    [
      'suspended CronJob',
      workload(
        'CronJob',
        {
          suspend: true,
          schedule: '* * * * *',
          jobTemplate: { spec: { parallelism: 3, template: template('1') } },
        },
        'batch/v1',
      ),
      0,
    ],
  ])('%s', async (_, object, pods) =>
    expect((await simulate([nodePool(), object])).result.stats.pods).toBe(pods),
  );
  test('a DaemonSet that does not tolerate the pool takes no room', async () => {
    const pool = nodePool({
      template: {
        spec: {
          nodeClassRef: { group: 'karpenter.kwok.sh', kind: 'KWOKNodeClass', name: 'default' },
          requirements: [],
          taints: [{ key: 'x', effect: 'NoSchedule' }],
        },
      },
    });
    const { result } = await simulate([
      pool,
      workload('DaemonSet', { template: template('1') }),
      pod('a', '1500m', { tolerations: [{ key: 'x', operator: 'Exists' }] }),
    ]);
    expect(result.newNodes.map((node) => [node.instanceTypes[0], node.requests['cpu']])).toEqual([
      ['m5.2', '1500m'],
    ]);
  });
  test('init containers, sidecars and pod overhead count as the scheduler counts them', async () => {
    const heavy = podSpec('500m', {
      initContainers: [
        { name: 'i', image: 'i', resources: { requests: { cpu: '2' } } },
        {
          name: 's',
          image: 's',
          restartPolicy: 'Always',
          resources: { requests: { cpu: '250m' } },
        },
      ],
      overhead: { cpu: '100m' },
    });
    expect(
      (
        await simulate([
          nodePool(),
          { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: heavy },
        ])
      ).result.newNodes.map((node) => node.requests['cpu']),
    ).toEqual(['2100m']);
  });
});

describe('pools and classes', () => {
  test('a legacy Provisioner is a pool', async () => {
    const provisioner: Manifest = {
      apiVersion: 'karpenter.sh/v1alpha5',
      kind: 'Provisioner',
      metadata: { name: 'old' },
      spec: {
        requirements: [zoneTerm('z2')],
        provider: { subnetSelector: { a: 'b' }, securityGroupSelector: { a: 'b' } },
      },
    };
    const { result } = await simulate([provisioner, pod('a', '1')]);
    expect(result.newNodes).toMatchObject([
      { nodePool: 'old', poolKind: 'Provisioner', zones: ['z2'] },
    ]);
  });
  test('limits hold, and what they leave out is explained with the limit that would do', async () => {
    const { code, result } = await simulate([
      nodePool({ limits: { cpu: '2' } }),
      pod('a', '1500m'),
      pod('b', '1500m'),
    ]);
    expect([code, result.unschedulable]).toMatchObject([
      2,
      [
        {
          reasons: [
            {
              code: 'pool-limit',
              values: { by: 'default/a' },
              remedy: 'raise the limit cpu of NodePool/default to 4',
            },
          ],
        },
      ],
    ]);
  });
  test('an EC2NodeClass decides what its nodes can hold', async () => {
    const nodeClass = (kubelet: object): Manifest => ({
      apiVersion: 'karpenter.k8s.aws/v1',
      kind: 'EC2NodeClass',
      metadata: { name: 'default' },
      spec: {
        role: 'r',
        amiSelectorTerms: [{ alias: 'al2023@latest' }],
        subnetSelectorTerms: [{ tags: { a: 'b' } }],
        securityGroupSelectorTerms: [{ tags: { a: 'b' } }],
        kubelet,
      },
    });
    const pool: Manifest = {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodePool',
      metadata: { name: 'default' },
      spec: {
        template: {
          spec: {
            nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
            requirements: [
              { key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['m5.large'] },
            ],
          },
        },
      },
    };
    const nodes = async (kubelet: object): Promise<number> =>
      (
        await simulate(
          [
            pool,
            nodeClass(kubelet),
            workload('Deployment', { replicas: 6, template: template('100m') }),
          ],
          { catalog: 'us-east-1' },
        )
      ).result.newNodes.length;
    expect([await nodes({}), await nodes({ maxPods: 3 })]).toEqual([1, 2]);
  });
});

describe('what is read but changes nothing is still checked', () => {
  test('a PodDisruptionBudget', async () => {
    const budget = (minAvailable: unknown): Manifest => ({
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'b' },
      spec: { minAvailable, selector: {} },
    });
    expect((await simulate([nodePool(), budget('50%'), pod('a', '1')])).code).toBe(0);
    expect(await simulate([nodePool(), budget('half'), pod('a', '1')])).toMatchObject({
      code: 64,
      err: expect.stringMatching(/world\.json:1: items\[1\]\.spec\.minAvailable: "half"/),
    });
  });
});

describe('flags', () => {
  const spreadOut = workload('Deployment', {
    replicas: 4,
    template: template('100m', {
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'kubernetes.io/hostname',
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: { matchLabels: { app: 'web' } },
        },
      ],
    }),
  });
  test('--hostname-spread=strict counts the emptiest node as 0, as Karpenter does', async () => {
    const nodes = async (hostnameSpread: 'balanced' | 'strict'): Promise<readonly number[]> =>
      (await simulate([nodePool(), spreadOut], { hostnameSpread })).result.newNodes.map(
        (node) => node.pods.length,
      );
    expect(await nodes('strict')).toEqual([1, 1, 1, 1]);
    expect((await nodes('balanced')).reduce((sum, pods) => sum + pods, 0)).toBe(4);
  });
  test('--explain of a pod that goes to a node that is there', async () => {
    const node: Manifest = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n1', labels: {} },
      status: {
        allocatable: { cpu: '4', memory: '8Gi', pods: '10' },
        capacity: { cpu: '4', memory: '8Gi', pods: '10' },
        conditions: [{ type: 'Ready', status: 'True' }],
      },
    };
    expect(
      (await simulate([nodePool(), node, pod('a', '1')], { explain: 'a', output: 'table' })).out,
    ).toBe('default/a goes to the existing node n1, alone\n');
    const full = { ...node, status: { allocatable: { cpu: '500m', memory: '8Gi', pods: '10' } } };
    const bought = await simulate([nodePool(), full, pod('a', '1')], {
      explain: 'a',
      output: 'table',
    });
    expect(bought.out).toMatch(/why no node that exists:\n {2}node-full/);
  });
  test('--explain of a pod on a new node says why this pool and why the other types fell out', async () =>
    expect(
      (await simulate([nodePool(), pod('a', '3')], { explain: 'a', output: 'table' })).out,
    ).toMatch(/NodePool\/default is the only pool[\s\S]*1 of 2 types are too small/));
  test('a plan of many pods says at once what it is doing', async () => {
    const { progress, result } = await simulate([
      nodePool(),
      workload('Deployment', { replicas: 20_001, template: template('100m') }),
    ]);
    expect([progress[0], progress.at(-1), result.stats.pods]).toEqual([
      'planning 20001 pods',
      '',
      20_001,
    ]);
  }, 30_000);
});
