import type { NodeClaim } from '@dovetail/core-api';
import { compareText, type Node } from '@dovetail/core-kube-model';
import type { ExistingNode } from '@dovetail/core-scheduling';

import type { TypesByName } from './catalog-view.js';
import type { Cluster } from './cluster.js';
import { existingNode, nodeInFlight } from './existing-node.js';
import type { PromisedRoom } from './promises.js';

/** The parts of the view that its users know from different sources. */
export type RoomSources = {
  /** The types that a claim may be or become. */
  readonly typesOf: (claim: NodeClaim) => TypesByName;
  /** The room that the promise of a claim or node keeps now. */
  readonly promisedTo: (holderUid: string) => PromisedRoom;
  /** Nodes and claims to leave out, by name, as if they were gone. */
  readonly without?: ReadonlySet<string>;
  /** UIDs of pods that are being planned: where they are bound now, they take no room. */
  readonly moving?: ReadonlySet<string>;
};

const none: TypesByName = new Map();

/**
 * The room that exists or is promised: each node with its claim, and each claim whose node has not
 * joined. It is sorted by name and then UID. A claim that is deleted before its node joined is no
 * room. Solver, launcher and simulate all see nodes through this function.
 */
export function existingNodes(cluster: Cluster, sources: RoomSources): readonly ExistingNode[] {
  const without = sources.without ?? new Set();
  const joined = [...cluster.nodes.values()]
    .filter((node) => !without.has(node.name))
    .map((node) => joinedNode(cluster, node, sources));
  const inFlight = [...cluster.claims.values()]
    .filter(
      (claim) =>
        claim.deletionMs === undefined &&
        !without.has(claim.name) &&
        cluster.nodeOfClaim(claim) === undefined,
    )
    .map((claim) =>
      nodeInFlight({
        claim,
        types: sources.typesOf(claim),
        promised: [sources.promisedTo(claim.uid)],
      }),
    );
  return [...joined, ...inFlight].sort(
    (a, b) => compareText(a.name, b.name) || compareText(a.uid, b.uid),
  );
}

function joinedNode(cluster: Cluster, node: Node, sources: RoomSources): ExistingNode {
  const claim = cluster.claimOfNode(node);
  const pods = cluster.pods.by('node', node.name);
  const own = sources.promisedTo(node.uid);
  return existingNode({
    node,
    ...(claim === undefined ? {} : { claim }),
    types: claim === undefined ? none : sources.typesOf(claim),
    pods: pods.filter((pod) => sources.moving?.has(pod.uid) !== true),
    promised: claim === undefined ? [own] : [own, sources.promisedTo(claim.uid)],
  });
}
