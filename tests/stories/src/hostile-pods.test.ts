import { type KubeObject, kubeResources } from '@dovetail/core-ports';
import { nodeClassObject, nodePoolObject, podObject } from '@dovetail/sim-stage';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { StoryStage } from './story-stage.js';

/**
 * One pod stops only itself. A tenant writes a pod that is legal and hostile, and the pods of
 * others get the nodes that they would have without it.
 */
const { ec2NodeClasses, nodePools, nodes, pods } = kubeResources;

type Spec = Readonly<Record<string, unknown>>;
type PodFields = KubeObject & { readonly spec: { readonly nodeName?: string } };

/** The seconds that others may wait for their nodes. They take one minute without faults. */
const delayMax = 120;
const many = 400;
const listOf = <T>(make: (index: number) => T): readonly T[] =>
  Array.from({ length: many }, (_, index) => make(index));
const any = {};
const affinity = (kind: string, when: string, terms: unknown): Spec => ({
  affinity: { [kind]: { [`${when}DuringSchedulingIgnoredDuringExecution`]: terms } },
});
const term = (topologyKey: string, more: Spec = {}): Spec => ({
  ...{ topologyKey, labelSelector: any, namespaceSelector: any },
  ...more,
});
const weighted = (index: number): Spec => ({
  weight: 1 + (index % 100),
  podAffinityTerm: term(`rack-${String(index)}`),
});
const nodeTerm = (key: string, operator = 'Exists'): Spec => ({
  matchExpressions: [{ key, operator }],
});
const spread = (topologyKey: string, whenUnsatisfiable: string): Spec => ({
  ...{ topologyKey, whenUnsatisfiable, maxSkew: 1, labelSelector: any },
});
const asking = (requests: Readonly<Record<string, string>>): Spec => ({
  containers: [{ name: 'main', image: 'app', resources: { requests } }],
});
const zone = 'topology.kubernetes.io/zone';
const hostname = 'kubernetes.io/hostname';

/** The specs of hostile pods, by what is hostile in them. */
const hostile: Readonly<Record<string, Spec>> = {
  'prefers to be with pods by hundreds of labels': affinity(
    'podAffinity',
    'preferred',
    listOf(weighted),
  ),
  'prefers to be away from pods by hundreds of labels': affinity(
    'podAntiAffinity',
    'preferred',
    listOf(weighted),
  ),
  'must be with pods by hundreds of labels': affinity(
    'podAffinity',
    'required',
    listOf((index) => term(`rack-${String(index)}`)),
  ),
  'must be with all pods of all namespaces': affinity('podAffinity', 'required', [term(zone)]),
  'must be away from all pods of all namespaces on its node': affinity(
    'podAntiAffinity',
    'required',
    [term(hostname)],
  ),
  'must be away from pods by a label that no node has': affinity('podAntiAffinity', 'required', [
    term('rack'),
  ]),
  'has hundreds of alternatives': affinity('nodeAffinity', 'required', {
    nodeSelectorTerms: listOf((index) => nodeTerm(`label-${String(index)}`)),
  }),
  'contradicts itself': affinity('nodeAffinity', 'required', {
    nodeSelectorTerms: [
      {
        matchExpressions: [...(['Exists', 'DoesNotExist'] as const)].map((operator) => ({
          key: zone,
          operator,
        })),
      },
    ],
  }),
  'prefers hundreds of node labels': affinity(
    'nodeAffinity',
    'preferred',
    listOf((index) => ({ weight: 1, preference: nodeTerm(`label-${String(index)}`) })),
  ),
  'tolerates hundreds of taints': {
    tolerations: listOf((index) => ({ key: `taint-${String(index)}`, operator: 'Exists' })),
  },
  'spreads over hundreds of labels': {
    topologySpreadConstraints: listOf((index) => spread(`rack-${String(index)}`, 'DoNotSchedule')),
  },
  'spreads over every label of a node': {
    topologySpreadConstraints: [
      ...[zone, hostname, 'kubernetes.io/arch', 'karpenter.sh/capacity-type'],
      ...['node.kubernetes.io/instance-type', 'karpenter.k8s.aws/instance-family'],
    ].map((key) => spread(key, 'ScheduleAnyway')),
  },
  'asks for more than any node has': asking({ cpu: '100k', memory: '1Pi' }),
  'asks for a resource that nobody offers': asking({ 'example.com/unicorn': '1' }),
  'mounts a claim that does not exist': {
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'none' } }],
  },
  'waits behind a gate': { schedulingGates: [{ name: 'example.com/never' }] },
  'selects a node that nobody makes': { nodeSelector: { 'example.com/rack': '1' } },
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

const others = ['a', 'b', 'c', 'd'];

/** The pods of others that share each node, once they had the time to get there. */
async function sharedBy(evil: Spec | undefined): Promise<readonly string[]> {
  await stage.kube.create(ec2NodeClasses, nodeClassObject());
  const pool = { disruption: { consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' } };
  await stage.kube.create(nodePools, nodePoolObject('default', pool));
  stage.start('services');
  await stage.pass(30);
  const size = { cpu: '900m', memory: '1Gi' };
  if (evil !== undefined)
    await stage.kube.create(
      pods,
      podObject('hostile', { cpu: '100m', memory: '128Mi', spec: evil }),
    );
  for (const name of others)
    await stage.kube.create(pods, podObject(name, { ...size, labels: { app: 'web' } }));
  await stage.pass(delayMax);
  const places = (stage.list(pods) as readonly PodFields[])
    .filter(({ metadata }) => others.includes(metadata.name))
    .map(({ metadata, spec }) => [spec.nodeName ?? 'none', metadata.name] as const);
  expect(places.filter(([node]) => stage.find(nodes, node) === undefined)).toEqual([]);
  return places.map(([, name]) => name).sort();
}

test.each(['is not there', ...Object.keys(hostile)])(
  'others run within two minutes beside a pod that %s',
  async (kind) => expect(await sharedBy(hostile[kind])).toEqual(others),
);
