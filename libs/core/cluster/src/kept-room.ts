import type { NodeClaim } from '@dovetail/core-api';
import type { Node } from '@dovetail/core-kube-model';
import type { ExistingNode } from '@dovetail/core-scheduling';

import type { Cluster } from './cluster.js';
import {
  claimInFlight,
  existingNodes,
  joinedNode,
  type KeepNode,
  type RoomSources,
} from './existing-nodes.js';

type Kept = { readonly parts: readonly unknown[]; readonly node: ExistingNode };

/**
 * Nodes kept from one look to the next. A node of which nothing has changed is the same value as
 * before, so a look costs little, and its users see what is new.
 */
export class KeptRoom {
  readonly #cluster: Cluster;
  #known = new Map<string, Kept>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** The nodes and claims in flight, as `existingNodes` gives them. */
  by(sources: Omit<RoomSources, 'keep'>): readonly ExistingNode[] {
    const before = this.#known;
    this.#known = new Map();
    return existingNodes(this.#cluster, { ...sources, keep: this.#keepFrom(before) });
  }

  /** One node that has joined. It costs nothing for the others. */
  one(node: Node, sources: Omit<RoomSources, 'keep'>): ExistingNode {
    return joinedNode(this.#cluster, node, { ...sources, keep: this.#keepFrom(this.#known) });
  }

  /** One claim whose node has not joined. It costs nothing for the others. */
  inFlight(claim: NodeClaim, sources: Omit<RoomSources, 'keep'>): ExistingNode {
    return claimInFlight(claim, { ...sources, keep: this.#keepFrom(this.#known) });
  }

  /** The node or claim is room no more. */
  forget(uid: string): void {
    this.#known.delete(uid);
  }

  #keepFrom(before: ReadonlyMap<string, Kept>): KeepNode {
    return (uid, parts, make) => {
      const held = before.get(uid);
      const kept = held !== undefined && isSame(held.parts, parts) ? held : { parts, node: make() };
      this.#known.set(uid, kept);
      return kept.node;
    };
  }
}

const isSame = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((part, index) => part === b[index]);
