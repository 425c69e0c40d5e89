import { labels, type NodeClaim } from '@dovetail/core-api';
import { compareText, type Node, type Pod } from '@dovetail/core-kube-model';
import { drained, type ExistingNode } from '@dovetail/core-scheduling';

import type { TypesByName } from './catalog-view.js';
import type { Cluster } from './cluster.js';
import { existingNode, nodeInFlight } from './existing-node.js';
import type { PromisedRoom } from './promises.js';

/** Answers the value that was made of the same parts before, or makes it. */
export type KeepNode = (
  uid: string,
  parts: readonly unknown[],
  make: () => ExistingNode,
) => ExistingNode;

/** The parts of the view that its users know from different sources. */
export type RoomSources = {
  /** The types that a claim may be or become. */
  readonly typesOf: (claim: NodeClaim) => TypesByName;
  /** The room that the promise of a claim or node keeps now. */
  readonly promisedTo: (holderUid: string) => PromisedRoom;
  /** Nodes that are drained, and claims that no node comes for, by name. */
  readonly without?: ReadonlySet<string>;
  /** UIDs of pods that are being planned: where they are bound now, they take no room. */
  readonly moving?: ReadonlySet<string>;
  /** Remembers nodes by the parts that they are made of. Without it each is made anew. */
  readonly keep?: KeepNode;
};

const none: TypesByName = new Map();

/**
 * The room that exists or is promised: each node with its claim, and each claim whose node has not
 * joined. It is sorted by name and then UID. A claim that is deleted before its node joined, or
 * whose node is gone, is no room. Solver, launcher and simulate see nodes through this function.
 */
export function existingNodes(cluster: Cluster, sources: RoomSources): readonly ExistingNode[] {
  const without = sources.without ?? new Set();
  const joined = [...cluster.nodes.values()].map((node) => {
    const made = joinedNode(cluster, node, sources);
    return without.has(node.name) ? drained(made) : made;
  });
  const inFlight = [...cluster.claims.values()]
    .filter((claim) => !without.has(claim.name) && isInFlight(cluster, claim))
    .map((claim) => claimInFlight(claim, sources));
  return [...joined, ...inFlight].sort(byName);
}

/** The order of existing nodes. */
export const byName = (a: ExistingNode, b: ExistingNode): number =>
  compareText(a.name, b.name) || compareText(a.uid, b.uid);

/**
 * Whether the claim is room of its own: it stays, and its node has not joined. A registered claim
 * had a node, so without one it is waiting for its end, and no node comes for it.
 */
export const isInFlight = (cluster: Cluster, claim: NodeClaim): boolean =>
  claim.deletionMs === undefined &&
  cluster.nodeOfClaim(claim) === undefined &&
  !claim.conditions.some(({ type, status }) => type === 'Registered' && status === 'True');

/** A claim whose node has not joined, as `existingNodes` has it. */
export function claimInFlight(
  claim: NodeClaim,
  { keep = madeAnew, ...sources }: RoomSources,
): ExistingNode {
  const types = sources.typesOf(claim);
  const promised = [sources.promisedTo(claim.uid)];
  return keep(claim.uid, [claim, types, ...partsOf(promised)], () =>
    nodeInFlight({ claim, types, promised }),
  );
}

/** A node that has joined, as `existingNodes` has it. */
export function joinedNode(
  cluster: Cluster,
  node: Node,
  { keep = madeAnew, ...sources }: RoomSources,
): ExistingNode {
  const claim = cluster.claimOfNode(node);
  // Room of one machine under two names would be planned twice, and it may be neither's.
  const { providerId = '' } = node;
  const hasDuplicates =
    claim !== undefined && cluster.nodes.by('providerId', providerId).length > 1;
  const own = sources.promisedTo(node.uid);
  const lists = podsOn(cluster, node, sources);
  const joined = {
    node,
    ...(claim === undefined ? {} : { claim }),
    types: claim === undefined ? none : sources.typesOf(claim),
    pods: lists.flat(),
    promised: claim === undefined ? [own] : [own, sources.promisedTo(claim.uid)],
  };
  // Of the types only the node's own says something of it: its price.
  const type = joined.types.get(
    node.labels[labels.instanceType] ?? claim?.labels[labels.instanceType] ?? '',
  );
  const parts = [node, claim, type, hasDuplicates, ...lists];
  return keep(node.uid, [...parts, ...partsOf(joined.promised)], () => {
    const made = existingNode(joined);
    return hasDuplicates ? { ...made, cordoned: true } : made;
  });
}

/**
 * The pods that take room on a node, in lists. A table gives the same list until a pod of it
 * changes, and so does this where none moves. A daemon pod takes its room from the moment that it
 * is made for the node.
 */
function podsOn(
  cluster: Cluster,
  node: Node,
  { moving }: Pick<RoomSources, 'moving'>,
): readonly (readonly Pod[])[] {
  const isMoving = (pod: Pod): boolean => moving?.has(pod.uid) === true;
  return (['node', 'awaitedBy'] as const).map((index) => {
    const pods = cluster.pods.by(index, node.name);
    return pods.some(isMoving) ? pods.filter((pod) => !isMoving(pod)) : pods;
  });
}

const madeAnew: KeepNode = (_uid, _parts, make) => make();

const partsOf = (promised: readonly PromisedRoom[]): readonly unknown[] =>
  promised.flatMap((room) => [room.reserved, room.pods.length, ...room.pods]);
