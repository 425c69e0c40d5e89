import type { AdmissionNumber } from '@dovetail/contracts';
import { type Pool, poolKey } from '@dovetail/core-api';
import {
  type CatalogView,
  claimUsage,
  type Cluster,
  isRetiring,
  promiseHolding,
  typesOfClaim,
} from '@dovetail/core-cluster';
import { assert, at, lookUp } from '@dovetail/core-invariant';
import {
  addResources,
  type Resources,
  subtractResources,
  sumResources,
} from '@dovetail/core-kube-model';
import type { ExistingNode } from '@dovetail/core-scheduling';

import type { AdmittedPlacement } from './judged.js';
import { RefusedPods } from './refused-pods.js';
import type { TouchedGroups } from './rules.js';
import { noteEntry, UndoLog } from './undo-log.js';

const minuteMs = 60_000;
/**
 * Longer than a watch lags in a healthy cluster; a claim that it does not show by then does not
 * exist.
 */
const watchLagMs = 10_000;

/**
 * The leader's memory beyond a round: groups that admissions touched, launches of the last minute,
 * and replacements that no watch may show yet.
 */
export class AdmissionMemory {
  readonly #touched = new Map<
    string,
    { readonly admission: AdmissionNumber; readonly planId: string }
  >();
  readonly #launches = new Map<string, number[]>();
  readonly #replaced = new Map<string, { readonly planId: string; readonly atMs: number }>();
  /** The pods for which the checker refused bins. */
  readonly refusedPods = new RefusedPods();
  /** Takes back what a command took that is refused whole. */
  readonly trial = new UndoLog();

  get touched(): TouchedGroups {
    return this.#touched;
  }

  touch(groups: readonly string[], admission: AdmissionNumber, planId: string): void {
    for (const group of groups) {
      noteEntry(this.trial, this.#touched, group);
      this.#touched.delete(group);
      this.#touched.set(group, { admission, planId });
    }
    while (this.#touched.size > touchedMax)
      this.#touched.delete(this.#touched.keys().next().value ?? '');
  }

  launched(pool: string, atMs: number): void {
    noteEntry(this.trial, this.#launches, pool);
    this.#launches.set(pool, [...this.#recent(pool, atMs), atMs]);
  }

  /**
   * A plan has just given the successors of these pods room. It is remembered until the watches
   * must have shown the promise.
   */
  replaced(podUids: readonly string[], planId: string, atMs: number): void {
    for (const [uid, entry] of this.#replaced)
      if (entry.atMs <= atMs - watchLagMs) this.#replaced.delete(uid);
    for (const uid of podUids) {
      noteEntry(this.trial, this.#replaced, uid);
      this.#replaced.set(uid, { planId, atMs });
    }
  }

  replacedBy(podUid: string, nowMs: number): string | undefined {
    const entry = this.#replaced.get(podUid);
    return entry !== undefined && entry.atMs > nowMs - watchLagMs ? entry.planId : undefined;
  }

  launchesLastMinute(pool: string, nowMs: number): number {
    return this.#recent(pool, nowMs).length;
  }

  #recent(pool: string, nowMs: number): number[] {
    return (this.#launches.get(pool) ?? []).filter((atMs) => atMs > nowMs - minuteMs);
  }
}

/** Groups that are remembered. A plan old enough to predate the oldest is refused for its age. */
const touchedMax = 100_000;

/**
 * The arithmetic of one round: rooms, promises and use of limits.
 *
 * Invariant: every bin that was admitted in the round is counted in.
 */
export class Ledger {
  readonly nodes: ExistingNode[];
  /** Takes back what a command took that is refused whole. */
  readonly trial = new UndoLog();
  readonly #cluster: Cluster;
  readonly #catalog: CatalogView;
  readonly #nowMs: number;
  readonly #indexByUid = new Map<string, number>();
  readonly #promisedNow = new Map<string, string>();
  readonly #usage = new Map<string, Resources>();

  constructor(
    cluster: Cluster,
    catalog: CatalogView,
    round: { readonly nowMs: number; readonly nodes: readonly ExistingNode[] },
  ) {
    this.#cluster = cluster;
    this.#catalog = catalog;
    this.#nowMs = round.nowMs;
    this.nodes = [...round.nodes];
    this.nodes.forEach((node, index) => {
      this.#indexByUid.set(node.uid, index);
      const claim =
        node.claimName === undefined ? undefined : cluster.claims.one('name', node.claimName);
      if (claim !== undefined) this.#indexByUid.set(claim.uid, index);
    });
  }

  /** A node, or a claim in flight; by the claim's UID too once its node has joined. */
  node(uid: string): ExistingNode | undefined {
    const index = this.#indexByUid.get(uid);
    return index === undefined ? undefined : this.nodes[index];
  }

  /** The carrier of a node's promises: its claim until it is ready, then the node itself. */
  holderOf(node: ExistingNode): AdmittedPlacement['holder'] {
    const { claimName, state } = node;
    const claim = claimName === undefined ? undefined : this.#cluster.claims.one('name', claimName);
    return claim !== undefined && state !== 'ready'
      ? { kind: 'NodeClaim', name: claim.name, uid: claim.uid }
      : { kind: 'Node', name: node.name, uid: node.uid };
  }

  /** The holder whose live promise, or whose bin of this round, has the pod. */
  promisedTo(podUid: string): string | undefined {
    return (
      this.#promisedNow.get(podUid) ??
      promiseHolding(this.#cluster, podUid, this.#nowMs)?.holder.value.name
    );
  }

  /**
   * The rest of the pool's limited resources; below zero once they are overdrawn. Nodes that are
   * being retired do not count, by our own watches: planning leaves them out as well (Karpenter's
   * rule), so that a pool at its limit can replace them.
   */
  remaining(pool: Pool): Resources {
    const limited = Object.keys(pool.limits);
    if (limited.length === 0) return {};
    const used = this.#usageOf(pool);
    const remaining = subtractResources(pool.limits, used);
    return Object.fromEntries(limited.map((name) => [name, lookUp(remaining, name) ?? 0]));
  }

  /** Counts what an admitted node takes. Throws InvariantError if the limits do not cover it. */
  use(pool: Pool, amount: Resources): void {
    for (const [name, left] of Object.entries(this.remaining(pool)))
      assert(
        (lookUp(amount, name) ?? 0) <= left,
        'an admitted node is within the limits of its pool',
      );
    noteEntry(this.trial, this.#usage, poolKey(pool.identity));
    this.#usage.set(poolKey(pool.identity), addResources(this.#usageOf(pool), amount));
  }

  addNode(node: ExistingNode): void {
    noteEntry(this.trial, this.#indexByUid, node.uid);
    this.trial.note(() => this.nodes.pop());
    this.#indexByUid.set(node.uid, this.nodes.length);
    this.nodes.push(node);
    this.#promiseTo(node);
  }

  replaceNode(uid: string, node: ExistingNode): void {
    const index = this.#indexByUid.get(uid);
    if (index === undefined) return;
    const before = at(this.nodes, index);
    this.trial.note(() => (this.nodes[index] = before));
    this.nodes[index] = node;
    this.#promiseTo(node);
  }

  #promiseTo({ name, promisedPods }: ExistingNode): void {
    for (const { uid } of promisedPods) {
      noteEntry(this.trial, this.#promisedNow, uid);
      this.#promisedNow.set(uid, name);
    }
  }

  #usageOf(pool: Pool): Resources {
    const key = poolKey(pool.identity);
    const known = this.#usage.get(key);
    if (known !== undefined) return known;
    const claims = this.#cluster.claims
      .by('pool', key)
      .filter((claim) => !isRetiring(this.#cluster.nodeOfClaim(claim), claim));
    const used = sumResources(
      claims.map((claim) => ({
        ...claimUsage(claim, typesOfClaim(this.#catalog, this.#cluster, claim)),
        nodes: 1,
      })),
    );
    this.#usage.set(key, used);
    return used;
  }
}
