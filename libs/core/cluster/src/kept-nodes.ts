import { type NodeClaim, poolKey } from '@dovetail/core-api';
import type { Node } from '@dovetail/core-kube-model';
import type { ExistingNode } from '@dovetail/core-scheduling';

import { type CatalogView, type TypesByName, typesOfClaim } from './catalog-view.js';
import { ChangedRoom } from './changed-room.js';
import type { Cluster } from './cluster.js';
import { byName, isInFlight, type RoomSources } from './existing-nodes.js';
import { KeptRoom } from './kept-room.js';
import { classKey } from './kinds.js';
import { promisedRoom } from './promises.js';

type Origin = Pick<NodeClaim, 'classRef' | 'pool'>;

/**
 * The nodes as `nodesNow` gives them, kept from one look to the next. A look costs what has changed
 * since the one before, and not all nodes and pods.
 *
 * Invariant: a node that is kept is made of the present state of everything that it depends on, but
 * for what the next look takes in first.
 */
export class KeptNodes {
  readonly #cluster: Cluster;
  readonly #catalog: CatalogView;
  readonly #room: KeptRoom;
  readonly #changed: ChangedRoom;
  /** The types that the nodes were made with, by class and pool. */
  #types = new Map<string, { readonly origin: Origin; readonly types: TypesByName }>();
  /** By UID of the node, or of the claim in flight. */
  readonly #nodes = new Map<string, ExistingNode>();
  #sorted: readonly ExistingNode[] | undefined;

  constructor(cluster: Cluster, catalog: CatalogView) {
    this.#cluster = cluster;
    this.#catalog = catalog;
    this.#room = new KeptRoom(cluster);
    this.#changed = new ChangedRoom(cluster);
  }

  /** The nodes and claims in flight, as they are at `nowMs`. */
  now(nowMs: number): readonly ExistingNode[] {
    const changed = this.#changed.take();
    this.#sorted =
      this.#sorted === undefined || this.#areTypesNew()
        ? this.#all(nowMs)
        : this.#sortedAfter(this.#sorted, changed, nowMs);
    return this.#sorted;
  }

  /**
   * As `now`, for callers that pause: a first look at many nodes, or one after a change of the
   * types, yields after each of them. Changes that come in between count.
   */
  *inSteps(nowMs: () => number): Generator<undefined, readonly ExistingNode[]> {
    if (this.#sorted === undefined || this.#areTypesNew()) {
      this.#begin();
      // Changes from here on are looked at again by `now`.
      for (const uid of this.#changed.take()) this.#room.forget(uid);
      const { nodes, claims } = this.#cluster;
      for (const { uid } of [...nodes.values(), ...claims.values()]) {
        const node = this.#nodeOf(uid, nowMs());
        if (node !== undefined) this.#nodes.set(uid, node);
        yield;
        // Another caller has looked at all of them meanwhile.
        if (this.#sorted !== undefined) return this.now(nowMs());
      }
      this.#sorted = [...this.#nodes.values()].sort(byName);
    }
    return this.now(nowMs());
  }

  /** One node that has joined, as it is at `nowMs`. */
  oneNow(node: Node, nowMs: number): ExistingNode {
    return this.#room.one(node, this.#sourcesAt(nowMs));
  }

  #begin(): void {
    this.#types = new Map();
    this.#nodes.clear();
    this.#sorted = undefined;
  }

  #all(nowMs: number): readonly ExistingNode[] {
    this.#begin();
    const nodes = this.#room.by(this.#sourcesAt(nowMs));
    for (const node of nodes) this.#nodes.set(node.uid, node);
    return nodes;
  }

  #sortedAfter(
    sorted: readonly ExistingNode[],
    changed: ReadonlySet<string>,
    nowMs: number,
  ): readonly ExistingNode[] {
    const fresh = [...changed].flatMap((uid) => this.#freshOf(uid, nowMs) ?? []);
    const kept = sorted.filter((node) => this.#nodes.get(node.uid) === node);
    for (const node of fresh) this.#nodes.set(node.uid, node);
    if (fresh.length === 0 && kept.length === sorted.length) return sorted;
    // Two runs that are in order: sorting compares each node about once.
    return [...kept, ...fresh.sort(byName)].sort(byName);
  }

  /** The node as it is now, if it is another value than before. The value of before is dropped. */
  #freshOf(uid: string, nowMs: number): ExistingNode | undefined {
    const now = this.#nodeOf(uid, nowMs);
    if (now === undefined) this.#room.forget(uid);
    if (now !== undefined && this.#nodes.get(uid) === now) return undefined;
    this.#nodes.delete(uid);
    return now;
  }

  #nodeOf(uid: string, nowMs: number): ExistingNode | undefined {
    const node = this.#cluster.nodes.get(uid);
    if (node !== undefined) return this.#room.one(node, this.#sourcesAt(nowMs));
    const claim = this.#cluster.claims.get(uid);
    return claim !== undefined && isInFlight(this.#cluster, claim)
      ? this.#room.inFlight(claim, this.#sourcesAt(nowMs))
      : undefined;
  }

  /** Whether a node was made with types that its class and pool have no more. */
  #areTypesNew(): boolean {
    return [...this.#types.values()].some(({ origin, types }) => this.#typesOf(origin) !== types);
  }

  #typesOf(origin: Origin): TypesByName {
    return typesOfClaim(this.#catalog, this.#cluster, origin);
  }

  #sourcesAt(nowMs: number): RoomSources {
    return {
      typesOf: (claim) => {
        const key = `${classKey(claim.classRef)} ${poolKey(claim.pool)}`;
        const types = this.#typesOf(claim);
        // The first nodes made with other types are looked at again with all others.
        if (!this.#types.has(key)) this.#types.set(key, { origin: claim, types });
        return types;
      },
      promisedTo: (holderUid) => promisedRoom(this.#cluster, holderUid, nowMs),
    };
  }
}
