import { annotations, labels, type NodeClaim, poolKey } from '@dovetail/core-api';
import type { InstanceType } from '@dovetail/core-ec2-model';
import { lookUp, put } from '@dovetail/core-invariant';
import {
  isEphemeralTaint,
  isTerminal,
  type Node,
  type Pod,
  type Requirements,
  requirementsOf,
  type RequirementSpec,
  type Resources,
  sumResources,
  type Taint,
} from '@dovetail/core-kube-model';
import type { ExistingNode } from '@dovetail/core-scheduling';

import { leastOf, type TypesByName, typesNamedBy } from './catalog-view.js';
import type { PromisedRoom } from './promises.js';
import {
  isRegistered,
  isSameTaint,
  poolOfLabels,
  registeredLabels,
  registeredTaints,
} from './registration.js';
import { isRetiring } from './retiring.js';

/**
 * The taint by which Kubernetes echoes `spec.unschedulable` (its node lifecycle controller sets and
 * removes it). `cordoned` says the same, so the taint is left out: it lags behind the field.
 */
const unschedulableTaint = 'node.kubernetes.io/unschedulable';

const undecided: Requirements = new Map();

/** A node that has joined, with everything that its place in planning depends on. */
export type JoinedNode = {
  readonly node: Node;
  /** The claim that the node came from; absent for nodes that Dovetail does not manage. */
  readonly claim?: NodeClaim;
  /** The types that the claim may have become, for the node's price. */
  readonly types: TypesByName;
  /**
   * The pods bound to the node, and those of daemonsets that wait for it. Ended ones take no room
   * and may be among them.
   */
  readonly pods: readonly Pod[];
  /** The room that its promises and its claim's keep. */
  readonly promised: readonly PromisedRoom[];
};

/** The part of a claim that tells what its node will be. */
type ClaimToJoin = Pick<
  NodeClaim,
  | 'uid'
  | 'name'
  | 'pool'
  | 'labels'
  | 'requirements'
  | 'taints'
  | 'startupTaints'
  | 'capacity'
  | 'allocatable'
>;

/** A claim whose node has not joined, with the types that it may become. */
export type ClaimInFlight = {
  readonly claim: ClaimToJoin;
  readonly types: TypesByName;
  readonly promised: readonly PromisedRoom[];
};

/**
 * Returns a node in the terms of planning and judging, by Karpenter's rules for a state node. Until
 * it is registered it already has its claim's labels and taints, which registration will copy.
 * Until it is initialised, its startup and ephemeral taints do not count. The claim's figures then
 * replace those that the kubelet does not report or reports as zero. Our own cordon does not count,
 * because it ends when the bin's pods are bound and others may plan on the remaining room. A node
 * that is overdue counts as it is, because its startup taints may never go.
 */
export function existingNode({ node, claim, types, pods, promised }: JoinedNode): ExistingNode {
  const pool = claim?.pool ?? poolOfLabels(node.labels);
  const managed = claim !== undefined || (pool !== undefined && isRegistered(node));
  const starting = managed && node.labels[labels.initialized] !== 'true';
  const expected = starting && node.annotations[annotations.overdue] === undefined;
  const joining = claim !== undefined && starting && !isRegistered(node);
  const nodeLabels = joining ? registeredLabels(node, claim) : node.labels;
  const nodeTaints = (joining ? registeredTaints(node, claim) : node.taints).filter(
    (taint) => taint.key !== unschedulableTaint,
  );
  const type = nodeLabels[labels.instanceType];
  return {
    name: node.name,
    uid: node.uid,
    ...(claim === undefined ? {} : { claimName: claim.name }),
    ...(pool === undefined ? {} : { poolKey: poolKey(pool) }),
    state: isRetiring(node, claim) ? 'deleting' : starting ? 'uninitialized' : 'ready',
    labels: nodeLabels,
    requirements: undecided,
    taints: expected ? lastingTaints(nodeTaints, claim?.startupTaints ?? []) : nodeTaints,
    cordoned: node.cordoned && node.annotations[annotations.placementCordon] === undefined,
    capacity: expected ? filledFrom(node.capacity, claim?.capacity) : node.capacity,
    allocatable: expected ? filledFrom(node.allocatable, claim?.allocatable) : node.allocatable,
    ...(type === undefined ? {} : { instanceType: type }),
    ...priceOf(nodeLabels, types),
    pods: pods.filter((pod) => !isTerminal(pod)),
    ...keptRoom(promised),
  };
}

/**
 * Returns a claim in flight in the terms of planning and judging. A requirement that leaves one
 * value is a label of the node to come. Until EC2 has chosen a type, only the least that its
 * options offer is certain.
 */
export function nodeInFlight({ claim, types, promised }: ClaimInFlight): ExistingNode {
  const known = { ...decidedLabels(claim.requirements), ...claim.labels };
  const launched = Object.keys(claim.allocatable).length > 0;
  const options = launched ? [] : typesNamedBy(claim.requirements, types);
  const leastBy = (pick: (type: InstanceType) => Resources): Resources =>
    leastOf(options.map(pick));
  return {
    name: claim.name,
    uid: claim.uid,
    claimName: claim.name,
    poolKey: poolKey(claim.pool),
    state: 'in-flight',
    labels: known,
    requirements: openRequirements(claim.requirements, known),
    taints: lastingTaints(claim.taints, claim.startupTaints),
    cordoned: false,
    capacity: launched ? claim.capacity : leastBy((type) => type.capacity),
    allocatable: launched ? claim.allocatable : leastBy((type) => type.allocatable),
    ...priceOf(known, types),
    pods: [],
    ...keptRoom(promised),
  };
}

/**
 * The labels that the node is sure to carry: the keys for which the requirements leave one value.
 */
export function decidedLabels(
  requirements: readonly RequirementSpec[],
): Readonly<Record<string, string>> {
  const decided: Record<string, string> = {};
  for (const [key, set] of requirementsOf(requirements)) {
    const [only] = set.values;
    if (set.kind === 'in' && set.values.size === 1 && only !== undefined) put(decided, key, only);
  }
  return decided;
}

/**
 * The requirements on keys that no label decides. A key that admits no value stays: nothing may
 * match it.
 */
const openRequirements = (
  requirements: readonly RequirementSpec[],
  known: Readonly<Record<string, string>>,
): Requirements =>
  new Map([...requirementsOf(requirements)].filter(([key]) => lookUp(known, key) === undefined));

/** The taints that remain once the node is initialised. */
const lastingTaints = (all: readonly Taint[], startup: readonly Taint[]): readonly Taint[] =>
  all.filter(
    (taint) => !isEphemeralTaint(taint) && !startup.some((other) => isSameTaint(other, taint)),
  );

/**
 * Kubelets report some resources late: the claim's figure stands where the node's is absent or
 * zero.
 */
function filledFrom(reported: Resources, expected: Resources = {}): Resources {
  const filled: Record<string, number> = { ...reported };
  for (const [name, amount] of Object.entries(expected))
    if ((lookUp(filled, name) ?? 0) === 0) put(filled, name, amount);
  return filled;
}

function priceOf(
  known: Readonly<Record<string, string>>,
  types: TypesByName,
): { readonly priceMicrosPerHour?: number } {
  const type = types.get(known[labels.instanceType] ?? '');
  const offering = type?.offerings.find(
    (each) => each.zone === known[labels.zone] && each.capacityType === known[labels.capacityType],
  );
  return offering === undefined ? {} : { priceMicrosPerHour: offering.priceMicrosPerHour };
}

/**
 * The room of several promises: each pod once, amounts added. A node's promise and its claim's may
 * both bind.
 */
function keptRoom(
  promised: readonly PromisedRoom[],
): Pick<ExistingNode, 'promisedPods' | 'reserved'> {
  const pods = new Map(promised.flatMap((room) => room.pods).map((pod) => [pod.uid, pod]));
  return {
    promisedPods: [...pods.values()],
    reserved: sumResources(promised.map((room) => room.reserved)),
  };
}
