import { describe, expect, test } from 'vitest';

import {
  type Manifest,
  nodePool,
  pod,
  simulate,
  template,
  workload,
  zonesOf,
  zoneTerm,
} from './testing/manifests.js';

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
});

describe('what is read but changes nothing is still checked, and the rest is planned', () => {
  test('a PodDisruptionBudget', async () => {
    const budget = (minAvailable: unknown): Manifest => ({
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'b' },
      spec: { minAvailable, selector: {} },
    });
    expect((await simulate([nodePool(), budget('50%'), pod('a', '1')])).code).toBe(0);
    expect(await simulate([nodePool(), budget('half'), pod('a', '1')])).toMatchObject({
      code: 4,
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
  });
});
