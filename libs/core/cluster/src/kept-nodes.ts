import type { Node } from '@dovetail/core-kube-model';
import type { ExistingNode } from '@dovetail/core-scheduling';

import { type CatalogView, typesOfClaim } from './catalog-view.js';
import type { Cluster } from './cluster.js';
import { existingNodes, joinedNode, type KeepNode, type RoomSources } from './existing-nodes.js';
import { promisedRoom } from './promises.js';

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

  #keepFrom(before: ReadonlyMap<string, Kept>): KeepNode {
    return (uid, parts, make) => {
      const held = before.get(uid);
      const kept = held !== undefined && isSame(held.parts, parts) ? held : { parts, node: make() };
      this.#known.set(uid, kept);
      return kept.node;
    };
  }
}

/** The nodes as `nodesNow` gives them, kept from one look to the next. */
export class KeptNodes {
  readonly #cluster: Cluster;
  readonly #catalog: CatalogView;
  readonly #room: KeptRoom;

  constructor(cluster: Cluster, catalog: CatalogView) {
    this.#cluster = cluster;
    this.#catalog = catalog;
    this.#room = new KeptRoom(cluster);
  }

  /** The nodes and claims in flight, as they are at `nowMs`. */
  now(nowMs: number): readonly ExistingNode[] {
    return this.#room.by(this.#sourcesAt(nowMs));
  }

  /** One node that has joined, as it is at `nowMs`. */
  oneNow(node: Node, nowMs: number): ExistingNode {
    return this.#room.one(node, this.#sourcesAt(nowMs));
  }

  #sourcesAt(nowMs: number): RoomSources {
    return {
      typesOf: (claim) => typesOfClaim(this.#catalog, this.#cluster, claim),
      promisedTo: (holderUid) => promisedRoom(this.#cluster, holderUid, nowMs),
    };
  }
}

const isSame = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((part, index) => part === b[index]);
