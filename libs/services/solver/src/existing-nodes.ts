import { annotations, labels, type NodeClaim, type NodeClass, taints } from '@dovetail/core-api';
import { type InstanceType, typesWithPoolKubelet } from '@dovetail/core-ec2-model';
import {
  isEphemeralTaint, isTerminal, type Node, type Pod, requirementsOf, type Requirements, type Resources, type Taint,
} from '@dovetail/core-kube-model';
import type { ExistingNode } from '@dovetail/core-scheduling';
import type { Mirror } from './mirror.js';

/** What Kubernetes adds to a node that is cordoned. */
const unschedulableTaint = 'node.kubernetes.io/unschedulable';
const nothing: Resources = {};
const undecided: Requirements = new Map();

/**
 * Room that exists or is promised, from nodes and claims: a claim and its node become one. Nodes that are not initialised
 * take zero capacities from their claim, and their startup and ephemeral taints do not count (they will go).
 */
export function existingNodes(mirror: Mirror, { without, moving }: { readonly without: ReadonlySet<string>; readonly moving: ReadonlySet<string> }): readonly ExistingNode[] {
  const claimsByNode = claimsByNodeOf(mirror);
  const podsByNode = podsByNodeOf(mirror, moving);
  const joined: ExistingNode[] = [];
  const paired = new Set<string>();
  for (const node of mirror.nodes.values()) {
    const claim = claimsByNode.get(node.name) ?? (node.providerId === undefined ? undefined : claimsByNode.get(node.providerId));
    if (claim !== undefined) paired.add(claim.uid);
    if (!without.has(node.name)) joined.push(nodeOf(mirror, node, claim, podsByNode.get(node.name) ?? []));
  }
  const inFlight = [...mirror.claims.values()].filter((claim) => !paired.has(claim.uid) && claim.deletionMs === undefined && !without.has(claim.name));
  return [...joined, ...inFlight.map((claim) => inFlightOf(mirror, claim))].toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

function claimsByNodeOf(mirror: Mirror): ReadonlyMap<string, NodeClaim> {
  const found = new Map<string, NodeClaim>();
  for (const claim of mirror.claims.values()) {
    if (claim.nodeName !== undefined) found.set(claim.nodeName, claim);
    if (claim.providerId !== undefined) found.set(claim.providerId, claim);
  }
  return found;
}

function podsByNodeOf(mirror: Mirror, moving: ReadonlySet<string>): ReadonlyMap<string, readonly Pod[]> {
  const found = new Map<string, Pod[]>();
  for (const pod of mirror.pods.values()) {
    if (pod.nodeName === undefined || isTerminal(pod) || moving.has(pod.uid)) continue;
    const there = found.get(pod.nodeName);
    if (there === undefined) found.set(pod.nodeName, [pod]);
    else there.push(pod);
  }
  return found;
}

function nodeOf(mirror: Mirror, node: Node, claim: NodeClaim | undefined, pods: readonly Pod[]): ExistingNode {
  const managed = claim !== undefined;
  const initialized = !managed || node.labels[labels.initialized] === 'true';
  const retiring = node.deletionMs !== undefined || claim?.deletionMs !== undefined || node.taints.some((taint) => taint.key === taints.disrupted.key);
  const promised = [...promisedTo(mirror, node.uid), ...(managed ? promisedTo(mirror, claim.uid) : [])];
  const type = node.labels[labels.instanceType];
  const ourCordon = node.annotations[annotations.placementCordon] !== undefined;
  return {
    name: node.name,
    uid: node.uid,
    ...(managed ? { claimName: claim.name, poolKey: `${claim.pool.kind}/${claim.pool.name}` } : {}),
    state: retiring ? 'deleting' : initialized ? 'ready' : 'uninitialized',
    // Until registration has copied them, what the claim says is what the node will carry.
    labels: initialized ? node.labels : { ...claim.labels, ...node.labels },
    requirements: undecided,
    taints: (initialized ? node.taints : node.taints.filter((taint) => !passes(taint, claim))).filter((taint) => !ourCordon || taint.key !== unschedulableTaint),
    // Our own cordon ends when the bin's pods are bound: others may plan on the room that is left.
    cordoned: node.cordoned && !ourCordon,
    capacity: initialized ? node.capacity : filledFrom(node.capacity, claim.capacity),
    allocatable: initialized ? node.allocatable : filledFrom(node.allocatable, claim.allocatable),
    ...(type === undefined ? {} : { instanceType: type }),
    ...priceOf(mirror, node.labels, claim),
    pods,
    promisedPods: unbound(promised, pods),
    reserved: reservedOn(mirror, [node.uid, ...(managed ? [claim.uid] : [])]),
  };
}

function inFlightOf(mirror: Mirror, claim: NodeClaim): ExistingNode {
  const requirements = requirementsOf(claim.requirements);
  const known: Record<string, string> = { ...claim.labels };
  const open = new Map<string, typeof requirements extends ReadonlyMap<string, infer V> ? V : never>();
  for (const [key, set] of requirements) {
    const [only, ...more] = set.values;
    if (set.kind === 'in' && only !== undefined && more.length === 0) known[key] ??= only;
    else open.set(key, set);
  }
  const shape = claim.allocatable['cpu'] === undefined ? smallestOf(mirror, claim, requirements) : claim;
  return {
    name: claim.name, uid: claim.uid, claimName: claim.name, poolKey: `${claim.pool.kind}/${claim.pool.name}`, state: 'in-flight',
    labels: known, requirements: open, taints: claim.taints.filter((taint) => !passes(taint, claim)), cordoned: false,
    capacity: shape.capacity, allocatable: shape.allocatable,
    ...priceOf(mirror, known, claim),
    pods: [],
    promisedPods: unbound(promisedTo(mirror, claim.uid), []),
    reserved: reservedOn(mirror, [claim.uid]),
  };
}

/** Until EC2 has chosen, only what every option offers is sure. */
function smallestOf(mirror: Mirror, claim: NodeClaim, requirements: Requirements): { capacity: Resources; allocatable: Resources } {
  const names = requirements.get(labels.instanceType);
  const pool = [...mirror.pools.values()].find((each) => each.identity.kind === claim.pool.kind && each.identity.name === claim.pool.name);
  const nodeClass = classOf(mirror, claim);
  const named = typesOf(mirror, claim).filter((type) => names?.kind === 'in' && names.values.has(type.name));
  const options = nodeClass === undefined ? [] : typesWithPoolKubelet(named, nodeClass, pool?.kubelet);
  const least = (pick: (type: InstanceType) => Resources): Resources => {
    const [first, ...rest] = options;
    if (first === undefined) return nothing;
    return rest.reduce<Resources>((sum, type) => Object.fromEntries(Object.entries(sum).map(([key, value]) => [key, Math.min(value, pick(type)[key] ?? 0)])), pick(first));
  };
  return { capacity: least((type) => type.capacity), allocatable: least((type) => type.allocatable) };
}

const classOf = (mirror: Mirror, claim: NodeClaim): NodeClass | undefined =>
  [...mirror.classes.values()].find((each) => each.ref.kind === claim.classRef.kind && each.ref.name === claim.classRef.name);

function typesOf(mirror: Mirror, claim: NodeClaim): readonly InstanceType[] {
  const nodeClass = classOf(mirror, claim);
  return nodeClass === undefined ? [] : (mirror.catalogOf(nodeClass.uid)?.types ?? []);
}

function priceOf(mirror: Mirror, known: Readonly<Record<string, string>>, claim: NodeClaim | undefined): { priceMicrosPerHour?: number } {
  if (claim === undefined) return {};
  const type = typesOf(mirror, claim).find((each) => each.name === known[labels.instanceType]);
  const offering = type?.offerings.find((each) => each.zone === known[labels.zone] && each.capacityType === known[labels.capacityType]);
  return offering === undefined ? {} : { priceMicrosPerHour: offering.priceMicrosPerHour };
}

const passes = (taint: Taint, claim: NodeClaim | undefined): boolean =>
  isEphemeralTaint(taint) || (claim?.startupTaints.some((each) => each.key === taint.key && each.effect === taint.effect) ?? false);

const filledFrom = (own: Resources, claims: Resources): Resources =>
  ({ ...claims, ...Object.fromEntries(Object.entries(own).filter(([, value]) => value !== 0)) });

const promisedTo = (mirror: Mirror, holderUid: string): readonly Pod[] =>
  (mirror.promises.get(holderUid)?.podUids ?? []).flatMap((uid) => mirror.pods.get(uid) ?? []);

const unbound = (promised: readonly Pod[], there: readonly Pod[]): readonly Pod[] => {
  const bound = new Set(there.map((pod) => pod.uid));
  return [...new Map(promised.filter((pod) => pod.nodeName === undefined && !bound.has(pod.uid) && !isTerminal(pod)).map((pod) => [pod.uid, pod])).values()];
};

function reservedOn(mirror: Mirror, holderUids: readonly string[]): Resources {
  const sum: Record<string, number> = {};
  for (const uid of holderUids) for (const [key, value] of Object.entries(mirror.promises.get(uid)?.reserved ?? nothing)) sum[key] = (sum[key] ?? 0) + value;
  return sum;
}
