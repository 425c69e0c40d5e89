import type { ExistingNode } from '@dovetail/core-scheduling';

import { type CatalogView, typesOfClaim } from './catalog-view.js';
import type { Cluster } from './cluster.js';
import { existingNodes } from './existing-nodes.js';
import { promisedRoom } from './promises.js';

/**
 * The nodes as `nodesNow` gives them, kept from one look to the next. A node of which nothing has
 * changed is the same value as before, so a look costs little, and its users see what is new.
 */
export class KeptNodes {
  readonly #cluster: Cluster;
  readonly #catalog: CatalogView;
  #known = new Map<string, { readonly parts: readonly unknown[]; readonly node: ExistingNode }>();

  constructor(cluster: Cluster, catalog: CatalogView) {
    this.#cluster = cluster;
    this.#catalog = catalog;
  }

  /** The nodes and claims in flight, as they are at `nowMs`. */
  now(nowMs: number): readonly ExistingNode[] {
    const before = this.#known;
    const known: typeof before = new Map();
    this.#known = known;
    return existingNodes(this.#cluster, {
      typesOf: (claim) => typesOfClaim(this.#catalog, this.#cluster, claim),
      promisedTo: (holderUid) => promisedRoom(this.#cluster, holderUid, nowMs),
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

const isSame = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((part, index) => part === b[index]);
