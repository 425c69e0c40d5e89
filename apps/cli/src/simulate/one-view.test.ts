import {
  decodeClassCatalog,
  decodeStateRecord,
  encodeClassCatalog,
  encodeStateRecord,
  type PodPromise,
  type StateValue,
} from '@dovetail/contracts';
import {
  ec2NodeClassOf,
  type NodeClaim,
  nodeClaimOf,
  type NodeClass,
  nodePoolOf,
  type Pool,
} from '@dovetail/core-api';
import { Cluster, livePromise, nodesNow } from '@dovetail/core-cluster';
import type { InstanceType } from '@dovetail/core-ec2-model';
import {
  isReschedulable,
  type Node,
  nodeOf,
  type Parsed,
  type Pod,
  podOf,
  requirementsOf,
} from '@dovetail/core-kube-model';
import type { ExistingNode } from '@dovetail/core-scheduling';
import { Mirror, snapshotOf } from '@dovetail/service-solver';
import fc from 'fast-check';
import { expect, test } from 'vitest';

import { Problems } from '../manifests/problems.js';
import type { Catalog } from './catalog.js';
import { inventoryOf } from './kinds.js';
import { planningInputOf } from './planning-input.js';

// The solver plans on its mirror of the state feed, the launcher judges on its own watches, and
// simulate reads manifests. All three must see the same nodes. Otherwise the launcher would refuse
// a good plan.

type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly [key: string]: unknown;
};
const zone = 'topology.kubernetes.io/zone';
const instanceType = 'node.kubernetes.io/instance-type';
const typeOf = (name: string, cpu: number): InstanceType => ({
  name,
  requirements: requirementsOf([]),
  capacity: { cpu, pods: 58 },
  allocatable: { cpu: cpu - 100, pods: 58 },
  offerings: ['a', 'b'].map((each) => ({
    zone: each,
    capacityType: 'on-demand',
    priceMicrosPerHour: cpu * 48,
    available: true,
    priceEstimated: false,
  })),
});
const types = [typeOf('m5.large', 2_000), typeOf('m5.xlarge', 4_000)];

const pool: Manifest = {
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'default', uid: 'pool' },
  spec: {
    template: {
      spec: {
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        requirements: [],
      },
    },
  },
};
const nodeClass: Manifest = {
  apiVersion: 'karpenter.k8s.aws/v1',
  kind: 'EC2NodeClass',
  metadata: { name: 'default', uid: 'class' },
  spec: {
    role: 'nodes',
    amiSelectorTerms: [{ alias: 'al2023@latest' }],
    subnetSelectorTerms: [{ id: 'subnet-1' }],
    securityGroupSelectorTerms: [{ id: 'sg-1' }],
  },
};

const taint = fc.constantFrom(
  { key: 'cni', effect: 'NoSchedule' },
  { key: 'team', value: 'a', effect: 'NoSchedule' },
  { key: 'karpenter.sh/unregistered', effect: 'NoExecute' },
  { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' },
  { key: 'karpenter.sh/disrupted', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' },
);
const labels = fc.record(
  {
    'karpenter.sh/nodepool': fc.constant('default'),
    'karpenter.sh/registered': fc.constant('true'),
    'karpenter.sh/initialized': fc.constantFrom('true', 'false'),
    'karpenter.sh/capacity-type': fc.constant('on-demand'),
    [instanceType]: fc.constantFrom('m5.large', 'm5.xlarge'),
    [zone]: fc.constantFrom('a', 'b'),
  },
  { requiredKeys: [] },
);
const promise = fc
  .record({
    podUids: fc.subarray(['p0', 'p1', 'p2']),
    untilMs: fc.constantFrom(undefined, 1_000),
    reserved: fc.constantFrom(undefined, { cpu: 500 }),
  })
  .map((one) => JSON.stringify({ ...one, admission: '1.1' }));
const annotations = fc.record(
  {
    'dovetail.sh/promise': promise,
    'dovetail.sh/retirement': fc.constant('{}'),
    'dovetail.sh/placement-cordon': fc.constant('2026-01-01T00:00:00Z'),
  },
  { requiredKeys: [] },
);
const amounts = fc.record(
  { cpu: fc.constantFrom('0', '4'), pods: fc.constantFrom('0', '58') },
  { requiredKeys: [] },
);
const providerId = fc.constantFrom('aws:///a/i-1', 'aws:///a/i-2', undefined);
const deletion = fc.constantFrom(undefined, undefined, '2026-01-01T00:00:00Z');

const metadataOf = (name: string, uid: string, more: object): Manifest['metadata'] => ({
  ...more,
  name,
  uid,
});
const node = (name: string): fc.Arbitrary<Manifest> =>
  fc
    .record({
      labels,
      annotations,
      deletionTimestamp: deletion,
      taints: fc.uniqueArray(taint, { selector: (one) => `${one.key}${one.effect}` }),
      unschedulable: fc.boolean(),
      providerID: providerId,
      capacity: amounts,
      allocatable: amounts,
    })
    .map(({ taints, unschedulable, providerID, capacity, allocatable, ...meta }) => ({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: metadataOf(name, `uid-${name}`, meta),
      spec: { taints, unschedulable, providerID },
      status: { capacity, allocatable, conditions: [{ type: 'Ready', status: 'True' }] },
    }));
const claim = (name: string): fc.Arbitrary<Manifest> =>
  fc
    .record({
      labels,
      annotations,
      deletionTimestamp: deletion,
      names: fc.subarray(['m5.large', 'm5.xlarge', 'gone.large'], { minLength: 1 }),
      taints: fc.uniqueArray(taint, { selector: (one) => `${one.key}${one.effect}` }),
      nodeName: fc.constantFrom('n0', 'n1', undefined),
      providerID: providerId,
      capacity: amounts,
    })
    .map(({ names, taints, nodeName, providerID, capacity, ...meta }) => ({
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      metadata: metadataOf(name, `uid-${name}`, {
        ...meta,
        labels: { ...meta.labels, 'karpenter.sh/nodepool': 'default' },
      }),
      spec: {
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        requirements: [{ key: instanceType, operator: 'In', values: names }],
        taints,
        startupTaints: [{ key: 'cni', effect: 'NoSchedule' }],
      },
      status: { nodeName, providerID, capacity, allocatable: capacity },
    }));
const pod = (name: string): fc.Arbitrary<Manifest> =>
  fc
    .record({
      nodeName: fc.constantFrom('n0', 'n1', 'elsewhere', undefined),
      phase: fc.constantFrom('Pending', 'Running', 'Succeeded'),
      deletionTimestamp: deletion,
    })
    .map(({ nodeName, phase, ...meta }) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...metadataOf(name, name, meta), namespace: 'default' },
      spec: { nodeName, containers: [{ name: 'main', resources: { requests: { cpu: '1' } } }] },
      status: { phase },
    }));

const clusters = fc
  .tuple(node('n0'), node('n1'), claim('c0'), claim('c1'), pod('p0'), pod('p1'), pod('p2'))
  .chain((all) => fc.shuffledSubarray(all))
  // Neither manifests nor the API server's answers have undefined fields.
  .map((all) => JSON.parse(JSON.stringify([...all, pool, nodeClass])) as readonly Manifest[]);

function read<T>(parsed: Parsed<T>): T {
  if (!parsed.ok) throw new Error(`${parsed.field}: ${parsed.value}: ${parsed.remedy}`);
  return parsed.value;
}

type Read =
  | { readonly kind: 'node'; readonly value: Node }
  | { readonly kind: 'claim'; readonly value: NodeClaim }
  | { readonly kind: 'pod'; readonly value: Pod }
  | { readonly kind: 'pool'; readonly value: Pool }
  | { readonly kind: 'nodeclass'; readonly value: NodeClass };
function readObject(object: Manifest): Read {
  switch (object.kind) {
    case 'Node':
      return { kind: 'node', value: read(nodeOf(object)) };
    case 'NodeClaim':
      return { kind: 'claim', value: read(nodeClaimOf(object)) };
    case 'Pod':
      return { kind: 'pod', value: read(podOf(object)) };
    case 'NodePool':
      return { kind: 'pool', value: read(nodePoolOf(object)) };
    default:
      return { kind: 'nodeclass', value: read(ec2NodeClassOf(object)) };
  }
}

/** The launcher: every object from its own watches, in the order of arrival. */
function launcherCluster(objects: readonly Manifest[]): Cluster {
  const cluster = new Cluster();
  for (const each of objects.map(readObject)) cluster.set(each.kind, each.value as never);
  return cluster;
}
const byName = new Map(types.map((type) => [type.name, type]));
const launcherNodes = (cluster: Cluster): readonly ExistingNode[] =>
  nodesNow(cluster, { revision: '', typesOf: () => byName }, 0);

/** The launcher's records of the promises that hold now. */
const publishedPromises = (cluster: Cluster): readonly PodPromise[] =>
  [...cluster.promises.holders()].flatMap((holderUid) => {
    const live = livePromise(cluster, holderUid, 0);
    return live === undefined
      ? []
      : [
          {
            holderUid,
            holderKind: live.holder.kind,
            holderName: live.holder.value.name,
            podUids: live.waiting.map(({ uid }) => uid),
            admission: { epoch: 1, number: 1 },
            reserved: live.promise.reserved ?? {},
          },
        ];
  });

/** The solver: the same objects through the bytes of the state feed, in the opposite order. */
function solverNodes(
  objects: readonly Manifest[],
  promises: readonly PodPromise[],
): readonly ExistingNode[] {
  const mirror = new Mirror();
  const states: readonly StateValue[] = [
    ...promises.map((value) => ({ kind: 'promise' as const, value })),
    ...objects.map(readObject).toReversed(),
  ];
  for (const [index, state] of states.entries()) {
    const uid = state.kind === 'promise' ? state.value.holderUid : (state as Read).value.uid;
    const record = { kind: 'set', uid, state, generation: '1' } as const;
    const back = decodeStateRecord(encodeStateRecord(record));
    if (!back.ok) throw new Error(`${back.field}: ${back.reason}`);
    mirror.applyState({ kind: 'record', sequence: index + 1, timeMs: 0, record: back.value });
  }
  const part = decodeClassCatalog(
    encodeClassCatalog({
      classUid: 'class',
      revision: '1',
      part: 0,
      parts: 1,
      instanceTypes: types,
    }),
  );
  if (!part.ok) throw new Error(part.reason);
  mirror.catalog.apply({ kind: 'class', sequence: 1, part: part.value });
  return snapshotOf(mirror, { without: new Set(), moving: new Set(), nowMs: 0 }).nodes;
}

/** `dovetail simulate`: the same objects as manifests. */
async function simulatedNodes(objects: readonly Manifest[]): Promise<readonly ExistingNode[]> {
  const document = { file: 'cluster.yaml', line: 1, text: '', value: undefined };
  const catalog: Catalog = { name: 'types', kind: 'file', zones: [], typesFor: () => types };
  const inventory = await inventoryOf(
    objects.map((object) => ({
      document,
      path: '',
      kind: object.kind,
      apiVersion: object.apiVersion,
      object,
    })),
    new Problems(),
  );
  return (await planningInputOf(inventory, catalog)).snapshot.nodes;
}

/** Simulate plans the pods of leaving nodes, so they take no room there. */
const withoutMovingPods = (node: ExistingNode): ExistingNode =>
  node.state === 'deleting'
    ? { ...node, pods: node.pods.filter((pod) => !isReschedulable(pod)) }
    : node;

test('solver, launcher and simulate see the same nodes in the same cluster', async () => {
  let seen = 0;
  await fc.assert(
    fc.asyncProperty(clusters, async (objects) => {
      // Where manifests have no claims at all, simulate makes up those of starting nodes.
      fc.pre(objects.some((object) => object.kind === 'NodeClaim'));
      const cluster = launcherCluster(objects);
      const nodes = launcherNodes(cluster);
      seen += nodes.length;
      expect(solverNodes(objects, publishedPromises(cluster))).toEqual(nodes);
      expect(await simulatedNodes(objects)).toEqual(nodes.map(withoutMovingPods));
    }),
    { numRuns: 300 },
  );
  expect(seen).toBeGreaterThan(0);
});
