import { type KubeObject, kubeResources } from '@dovetail/core-ports';
import { nodeClassObject, nodePoolObject, podObject } from '@dovetail/sim-stage';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { StoryStage } from './story-stage.js';

/**
 * The rules of pods, pools and volumes through all four services: pods get nodes of their own, and
 * the twin's scheduler has the last word where the launcher does not bind.
 */
const {
  ec2NodeClasses,
  nodePools,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  storageClasses,
} = kubeResources;
const hostname = 'kubernetes.io/hostname';
const zone = 'topology.kubernetes.io/zone';

type Spec = Readonly<Record<string, unknown>>;
/** Nodes stay, so that what was planned is what is seen. */
const never = { consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' };
type PodFields = KubeObject & {
  readonly spec: { readonly nodeName?: string };
  readonly status?: { readonly phase?: string };
};

let stage: StoryStage;
beforeEach(async () => {
  stage = await new StoryStage().begin();
});
afterEach(() => {
  const errors = stage.log.entries.filter(({ level }) => level === 'error');
  stage.end();
  expect(errors).toEqual([]);
});

/** Sets the pools up, starts the services and creates the pods; then two minutes pass. */
async function settled(
  made: readonly KubeObject[],
  pools: readonly KubeObject[] = [nodePoolObject('default', { disruption: never })],
  before: () => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  await stage.kube.create(ec2NodeClasses, nodeClassObject());
  for (const pool of pools) await stage.kube.create(nodePools, pool);
  await before();
  stage.start('services');
  await stage.pass(30);
  for (const pod of made) await stage.kube.create(pods, pod);
  await stage.pass(120);
}

const podOf = (name: string, spec: Spec = {}, labels: Readonly<Record<string, string>> = {}) =>
  podObject(name, { cpu: '100m', memory: '128Mi', labels: { app: 'web', ...labels }, spec });
const podsOf = (count: number, spec: Spec = {}): readonly KubeObject[] =>
  Array.from({ length: count }, (_, index) => podOf(`web-${index}`, spec));

/** The node of each pod that runs. */
const running = (): ReadonlyMap<string, string> =>
  new Map(
    (stage.list(pods) as readonly PodFields[])
      .filter(({ status }) => status?.phase === 'Running')
      .map(({ metadata, spec }) => [metadata.name, spec.nodeName ?? '']),
  );
/** How many pods run on each node, or in each domain of a label, most first. */
function loads(label = hostname): readonly number[] {
  const counts = new Map<string, number>();
  for (const name of running().values()) {
    const domain = stage.find(nodes, name)?.metadata.labels?.[label] ?? '';
    counts.set(domain, (counts.get(domain) ?? 0) + 1);
  }
  return [...counts.values()].sort((a, b) => b - a);
}
const labelOf = (pod: string, label: string): string | undefined =>
  stage.find(nodes, running().get(pod) ?? '')?.metadata.labels?.[label];
const cpusOf = (pod: string): number => Number(labelOf(pod, 'karpenter.k8s.aws/instance-cpu') ?? 0);

const affinityTo = (app: string, kind: 'podAffinity' | 'podAntiAffinity'): Spec => ({
  affinity: {
    [kind]: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: hostname, labelSelector: { matchLabels: { app } } },
      ],
    },
  },
});
const spreadOver = (topologyKey: string, more: Spec = {}): Spec => ({
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey,
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { app: 'web' } },
      ...more,
    },
  ],
});
const container = (requests: Spec, more: Spec = {}): Spec => ({
  name: 'main',
  image: 'pause:3.9',
  resources: { requests },
  ...more,
});

describe('pods beside pods', () => {
  test('pods with affinity to an app run on its node', async () => {
    const front = ['front-0', 'front-1'].map((name) =>
      podOf(name, affinityTo('back', 'podAffinity'), { app: 'front' }),
    );
    await settled([podOf('back', {}, { app: 'back' }), ...front]);
    expect(loads()).toEqual([3]);
  });

  test('pods with anti-affinity to their own app have a node each', async () => {
    await settled(podsOf(3, affinityTo('web', 'podAntiAffinity')));
    expect(loads()).toEqual([1, 1, 1]);
  });

  test('pods that take the same port of the host have a node each', async () => {
    const ports = [{ containerPort: 80, hostPort: 8080 }];
    await settled(podsOf(2, { containers: [container({ cpu: '100m' }, { ports })] }));
    expect(loads()).toEqual([1, 1]);
  });
});

describe('a spread', () => {
  test('over zones has as many pods in each', async () => {
    await settled(podsOf(4, spreadOver(zone)));
    expect(loads(zone)).toEqual([2, 2]);
  });

  test('with minDomains buys a node for each domain', async () => {
    await settled(podsOf(3, spreadOver(hostname, { minDomains: 3 })));
    expect(loads()).toEqual([1, 1, 1]);
  });

  /** A node of somebody else in a zone where no pool buys, which no pod may use. */
  const tainted = (): Promise<unknown> =>
    stage.kube.create(nodes, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'foreign', labels: { [zone]: 'us-west-2d', [hostname]: 'foreign' } },
      spec: { taints: [{ key: 'example.com/foreign', effect: 'NoSchedule' }] },
    });

  test.each([
    ['Honor', [2, 2]],
    ['Ignore', [1, 1]],
  ])('with nodeTaintsPolicy %s has %j pods beside a tainted node', async (policy, expected) => {
    const made = podsOf(4, spreadOver(zone, { nodeTaintsPolicy: policy }));
    await settled(made, undefined, tainted);
    expect(loads(zone)).toEqual(expected);
  });

  test.each([
    ['Honor', 3],
    ['Ignore', 1],
  ])(
    'with nodeAffinityPolicy %s has %i pods in the one zone that they may use',
    async (policy, expected) => {
      const made = podsOf(3, {
        ...spreadOver(zone, { nodeAffinityPolicy: policy }),
        nodeSelector: { [zone]: 'us-west-2a' },
      });
      const other = podOf('other', { nodeSelector: { [zone]: 'us-west-2b' } }, { app: 'other' });
      await settled([other, ...made]);
      expect(loads(zone)).toEqual([expected, 1]);
    },
  );

  test('with matchLabelKeys counts the pods of its own revision only', async () => {
    const old = ['old-0', 'old-1'].map((name) =>
      podOf(name, { nodeSelector: { [zone]: 'us-west-2a' } }, { revision: '1' }),
    );
    const spread = spreadOver(zone, { matchLabelKeys: ['revision'] });
    await settled([
      ...old,
      ...['new-0', 'new-1'].map((name) => podOf(name, spread, { revision: '2' })),
    ]);
    expect(['new-0', 'new-1'].map((name) => labelOf(name, zone)).sort()).toEqual([
      'us-west-2a',
      'us-west-2b',
    ]);
  });
});

describe('consolidation', () => {
  test.each([
    [zone, 'Ignore'],
    [zone, 'Honor'],
    [hostname, 'Ignore'],
    [hostname, 'Honor'],
  ])('leaves nodes whose pods are spread over %s (nodeTaintsPolicy %s)', async (key, policy) => {
    const spec = spreadOver(key, { nodeTaintsPolicy: policy });
    await settled([], [nodePoolObject('default')], () =>
      stage.workloads.scale('web', 4, { cpu: '100m', memory: '128Mi', spec }),
    );
    const { length } = stage.twin.instances.all();
    expect(length).toBeGreaterThan(1);
    await stage.pass(600);
    expect(stage.twin.instances.all()).toHaveLength(length);
  });
});

describe('what a pod asks for', () => {
  test.each([
    [
      'the largest init container, if it is larger than the containers',
      { initContainers: [container({ cpu: '3' }, { name: 'init' })] },
    ],
    [
      'its containers and its sidecars together',
      {
        initContainers: [container({ cpu: '1500m' }, { name: 'sidecar', restartPolicy: 'Always' })],
        containers: [container({ cpu: '1500m' })],
      },
    ],
    ['the resources of the pod, if it names them', { resources: { requests: { cpu: '3' } } }],
  ])('is %s', async (_name, spec) => {
    await settled([podOf('web-0', spec)]);
    expect(cpusOf('web-0')).toBe(4);
  });
});

describe('pools', () => {
  const only = (name: string, family: string, spec: Spec): KubeObject =>
    nodePoolObject(name, {
      spec,
      disruption: never,
      node: {
        requirements: [
          { key: 'karpenter.k8s.aws/instance-family', operator: 'In', values: [family] },
          { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
        ],
      },
    });

  test('the pool of more weight is used, although its nodes cost more', async () => {
    await settled(podsOf(1), [only('cheap', 'm5a', {}), only('first', 'm5', { weight: 10 })]);
    expect(labelOf('web-0', 'karpenter.sh/nodepool')).toBe('first');
  });

  test('a pool whose limit is reached leaves the rest to the next one', async () => {
    const made = podsOf(2, affinityTo('web', 'podAntiAffinity'));
    await settled(made, [
      only('first', 'm5', { weight: 10, limits: { cpu: '2' } }),
      only('next', 'm5a', {}),
    ]);
    const pools = made.map(({ metadata }) => labelOf(metadata.name, 'karpenter.sh/nodepool'));
    expect(pools.sort()).toEqual(['first', 'next']);
  });
});

describe('a volume', () => {
  const inZoneB = [{ matchLabelExpressions: [{ key: zone, values: ['us-west-2b'] }] }];
  const claim = (spec: Spec): KubeObject => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: 'default' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
  });
  const withVolume = { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] };

  test('that exists in one zone gets its pod a node there', async () => {
    await settled([podOf('web-0', withVolume)], undefined, async () => {
      await stage.kube.create(persistentVolumes, {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: 'volume' },
        spec: {
          capacity: { storage: '1Gi' },
          accessModes: ['ReadWriteOnce'],
          csi: { driver: 'ebs.csi.aws.com', volumeHandle: 'vol-1' },
          claimRef: { namespace: 'default', name: 'data' },
          nodeAffinity: {
            required: {
              nodeSelectorTerms: [
                { matchExpressions: [{ key: zone, operator: 'In', values: ['us-west-2b'] }] },
              ],
            },
          },
        },
      });
      await stage.kube.create(
        persistentVolumeClaims,
        claim({ volumeName: 'volume', storageClassName: '' }),
      );
    });
    expect(labelOf('web-0', zone)).toBe('us-west-2b');
  });

  test('that is made for its first pod is made in a zone that its class allows', async () => {
    await settled([podOf('web-0', withVolume)], undefined, async () => {
      await stage.kube.create(storageClasses, {
        apiVersion: 'storage.k8s.io/v1',
        kind: 'StorageClass',
        metadata: { name: 'gp3' },
        provisioner: 'ebs.csi.aws.com',
        volumeBindingMode: 'WaitForFirstConsumer',
        allowedTopologies: inZoneB,
      });
      await stage.kube.create(persistentVolumeClaims, claim({ storageClassName: 'gp3' }));
    });
    expect(labelOf('web-0', zone)).toBe('us-west-2b');
  });
});
