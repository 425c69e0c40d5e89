import { annotations, labels, type Pool } from '@dovetail/core-api';
import { claimValue } from '@dovetail/core-api/testing';
import type { NodeView, SearchInput } from '@dovetail/core-disruption';
import type { InstanceType } from '@dovetail/core-ec2-model';
import type { Pod, PodDisruptionBudget } from '@dovetail/core-kube-model';
import { nodeValue } from '@dovetail/core-kube-model/testing';
import {
  type BinOption,
  defaultPlanOptions,
  type ExistingNode,
  type NewNode,
  plan,
  type Snapshot,
} from '@dovetail/core-scheduling';
import { Random } from '@dovetail/core-scheduling/testing';

import { generatedWorld } from '../worlds/generated.js';
import { hostKey, poolOf } from '../worlds/objects.js';

/** The kinds of aged clusters. */
export const agedKinds = ['plain', 'spread', 'budgets', 'mixed'] as const;
export type AgedKind = (typeof agedKinds)[number];

export type AgedSpec = {
  readonly kind: AgedKind;
  /** About so many nodes run when the cluster is old. */
  readonly nodes: number;
  readonly seed: number;
  /** The micro-dollars an hour that the move of an ordinary pod must save. */
  readonly moveCostMicrosPerHour: number;
};

/** An aged cluster, the pods that run on it, and the share of its cores that they request. */
export type Aged = {
  readonly spec: AgedSpec;
  readonly pool: Pool;
  readonly input: SearchInput;
  readonly pods: readonly Pod[];
  readonly used: number;
};

/** The clusters end at ten pods a node on average, and twice as many ran when they were young. */
const podsPerNode = 10;
const grownTo = 2.2;

const nowMs = 1_800_000_000_000;
const gone: readonly PodDisruptionBudget[] = [];

/** Adds Spot offerings at about a third of the price, seeded by type and zone. */
function withSpot(types: readonly InstanceType[], random: Random): readonly InstanceType[] {
  return types.map((type) => ({
    ...type,
    offerings: type.offerings.flatMap((one) => [
      one,
      {
        ...one,
        capacityType: 'spot' as const,
        priceMicrosPerHour: Math.round(one.priceMicrosPerHour * (0.25 + 0.2 * random.next())),
      },
    ]),
  }));
}

const labelsOf = (bin: NewNode, option: BinOption, name: string): ExistingNode['labels'] => ({
  ...bin.labels,
  'kubernetes.io/arch': 'amd64',
  'kubernetes.io/os': 'linux',
  'karpenter.sh/nodepool': 'default',
  [hostKey]: name,
  [labels.instanceType]: option.instanceType,
  [labels.zone]: option.zone,
  [labels.capacityType]: option.capacityType,
});

/** A node of a bin, launched as its cheapest option. */
function nodeOf(
  bin: NewNode,
  name: string,
  what: { readonly snapshot: Snapshot; readonly pods: readonly Pod[] },
): ExistingNode {
  const option = bin.options[0];
  const type = what.snapshot.pools[0]?.instanceTypes.find(
    (one) => one.name === option?.instanceType,
  );
  if (option === undefined || type === undefined) throw new Error('a bin has an option');
  const { allocatable, capacity } = type;
  return {
    name,
    uid: name,
    poolKey: 'NodePool/default',
    state: 'ready',
    labels: labelsOf(bin, option, name),
    requirements: new Map(),
    taints: [],
    cordoned: false,
    capacity,
    allocatable,
    instanceType: option.instanceType,
    priceMicrosPerHour: option.priceMicrosPerHour,
    pods: what.pods.map((pod) => ({
      ...pod,
      nodeName: name,
      phase: 'Running' as const,
      ready: true,
    })),
    promisedPods: [],
    reserved: {},
  };
}

/** Grows the cluster in waves of whole deployments, each planned over the nodes before it. */
function grown(empty: Snapshot, pods: readonly Pod[], waves: number): Snapshot {
  let snapshot = empty;
  const size = Math.ceil(pods.length / waves);
  for (let wave = 0; wave < waves; wave += 1) {
    const coming = pods.slice(wave * size, (wave + 1) * size);
    const made = plan(snapshot, coming, defaultPlanOptions);
    const byUid = new Map(coming.map((pod) => [pod.uid, pod]));
    const arriving = new Map(made.placements.map(({ nodeUid, podUids }) => [nodeUid, podUids]));
    const bound = (uids: readonly string[], name: string): readonly Pod[] =>
      uids
        .flatMap((uid) => byUid.get(uid) ?? [])
        .map((pod) => ({ ...pod, nodeName: name, phase: 'Running' as const, ready: true }));
    const old = snapshot.nodes.map((node) => ({
      ...node,
      pods: [...node.pods, ...bound(arriving.get(node.uid) ?? [], node.name)],
    }));
    const young = made.newNodes.map((bin, index) =>
      nodeOf(bin, `n-${String(wave)}-${String(index)}`, {
        snapshot,
        pods: bin.podUids.flatMap((uid) => byUid.get(uid) ?? []),
      }),
    );
    snapshot = { ...snapshot, nodes: [...old, ...young] };
  }
  return snapshot;
}

/** Shrinks deployments: each keeps a random part of its pods. Nodes without pods are gone. */
function shrunk(snapshot: Snapshot, random: Random): Snapshot {
  const kept = new Map<string, number>();
  const share = (app: string): number => {
    const known = kept.get(app) ?? 0.1 + 0.7 * random.next();
    kept.set(app, known);
    return known;
  };
  const nodes = snapshot.nodes
    .map((node) => ({
      ...node,
      pods: node.pods.filter(({ labels: { app = '' } }) => random.chance(share(app))),
    }))
    .filter(({ pods }) => pods.length > 0);
  return { ...snapshot, nodes };
}

const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'rs', uid: 'rs' };

function viewOf(node: ExistingNode, pool: Pool): NodeView {
  const price = ((node.priceMicrosPerHour ?? 0) / 1e6).toFixed(6);
  const condition = {
    type: 'Initialized',
    status: 'True',
    reason: '',
    message: '',
    lastTransitionMs: 0,
  } as const;
  return {
    claim: claimValue(`claim-${node.name}`, {
      labels: node.labels,
      nodeName: node.name,
      annotations: { [annotations.pricePerHour]: price },
      conditions: [condition],
    }),
    node: nodeValue(node.name, {
      uid: node.uid,
      labels: node.labels,
      capacity: node.capacity,
      allocatable: node.allocatable,
    }),
    pool,
    pods: node.pods,
  };
}

/** One in ten deployments is guarded by a budget that allows no disruption now. */
const isGuarded = ({ labels: { app = '' } }: Pod): boolean => app.endsWith('7');
const guard: PodDisruptionBudget = {
  uid: 'guard',
  namespace: 'default',
  name: 'guard',
  resourceVersion: '1',
  unhealthyPodEvictionPolicy: 'IfHealthyBudget',
  disruptionsAllowed: 0,
};

/** The input of a search over an aged cluster, with the nodes as they are now. */
export function inputOf(
  { kind, moveCostMicrosPerHour }: AgedSpec,
  pool: Pool,
  snapshot: Snapshot,
): SearchInput {
  const nodes = snapshot.nodes.map((node) => ({ ...node, cordoned: false }));
  return {
    snapshot: { ...snapshot, nodes },
    views: nodes.map((node) => viewOf(node, pool)),
    eligibility: {
      budgetsOf: (pod) => (kind === 'budgets' && isGuarded(pod) ? [guard] : gone),
      podOf: () => undefined,
      nowMs,
    },
    rules: { spotToSpot: true, savingMin: 1_000, savingShareMin: 0.02, moveCostMicrosPerHour },
    options: defaultPlanOptions,
    position: { incarnation: 'bench', sequence: 1 },
  };
}

/** A cluster that has grown and shrunk until a third to a half of it is used. */
export function agedCluster(spec: AgedSpec): Aged {
  const { kind, nodes, seed } = spec;
  const random = new Random(seed);
  const rules = kind === 'spread' ? 'spread' : 'plain';
  const world = generatedWorld({
    pods: Math.round(nodes * podsPerNode * grownTo),
    seed,
    vcpusMax: 16,
    rules,
  });
  const pool = poolOf();
  const pods = world.pods.map((pod) => ({ ...pod, owner }));
  const types = world.snapshot.pools.flatMap(({ instanceTypes }) => instanceTypes);
  const empty = {
    ...world.snapshot,
    pools: [{ pool, instanceTypes: kind === 'mixed' ? withSpot(types, random) : types }],
  };
  const snapshot = shrunk(grown(empty, pods, 8), random);
  const sum = (of: (node: ExistingNode) => number): number =>
    snapshot.nodes.reduce((total, node) => total + of(node), 0);
  return {
    ...{ spec, pool },
    input: inputOf(spec, pool, snapshot),
    pods: snapshot.nodes.flatMap((node) => node.pods),
    used:
      sum((node) => node.pods.reduce((total, { requests }) => total + (requests['cpu'] ?? 0), 0)) /
      sum((node) => node.allocatable['cpu'] ?? 0),
  };
}
