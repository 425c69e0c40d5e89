import type { ExistingNode } from '@dovetail/core-scheduling';

import { type CatalogView, typesOfClaim } from './catalog-view.js';
import type { Cluster } from './cluster.js';
import { existingNodes, type RoomSources } from './existing-nodes.js';
import { promisedRoom } from './promises.js';

/**
 * Nodes kept from one look to the next. A node of which nothing has changed is the same value as
 * before, so a look costs little, and its users see what is new.
 */
export class KeptRoom {
  readonly #cluster: Cluster;
  #known = new Map<string, { readonly parts: readonly unknown[]; readonly node: ExistingNode }>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** The nodes and claims in flight, as `existingNodes` gives them. */
  by(sources: Omit<RoomSources, 'keep'>): readonly ExistingNode[] {
    const before = this.#known;
    const known: typeof before = new Map();
    this.#known = known;
    return existingNodes(this.#cluster, {
      ...sources,
      keep: (uid, parts, make) => {
        const held = before.get(uid);
        const kept =
          held !== undefined && isSame(held.parts, parts) ? held : { parts, node: make() };
        known.set(uid, kept);
        return kept.node;
      },
    });
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
    return this.#room.by({
      typesOf: (claim) => typesOfClaim(this.#catalog, this.#cluster, claim),
      promisedTo: (holderUid) => promisedRoom(this.#cluster, holderUid, nowMs),
    });
  }
}

const isSame = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((part, index) => part === b[index]);
