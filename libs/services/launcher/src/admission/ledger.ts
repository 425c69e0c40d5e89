import type { AdmissionNumber } from '@dovetail/contracts';
import { poolKey, type Pool } from '@dovetail/core-api';
import { addResources, subtractResources, sumResources, type Resources } from '@dovetail/core-kube-model';
import type { ExistingNode } from '@dovetail/core-scheduling';
import { claimUsage, typesOfClaim, type CatalogView } from '../world/catalog-view.js';
import { promiseHolding } from '../world/promises.js';
import { existingNodes } from '../world/snapshot.js';
import type { World } from '../world/world.js';
import type { TouchedGroups } from './rules.js';

const minuteMs = 60_000;
const watchLagMs = 10_000;

/** What outlives a round, in the leader's memory: spread and affinity groups that admissions touched, and launches of the last minute. */
export class AdmissionMemory {
  readonly #touched = new Map<string, { readonly admission: AdmissionNumber; readonly planId: string }>();
  readonly #launches = new Map<string, number[]>();
  readonly #replaced = new Map<string, { readonly planId: string; readonly atMs: number }>();

  get touched(): TouchedGroups { return this.#touched; }

  touch(groups: readonly string[], admission: AdmissionNumber, planId: string): void {
    for (const group of groups) {
      this.#touched.delete(group);
      this.#touched.set(group, { admission, planId });
    }
    while (this.#touched.size > touchedMax) this.#touched.delete(this.#touched.keys().next().value ?? '');
  }

  launched(pool: string, atMs: number): void {
    this.#launches.set(pool, [...this.#recent(pool, atMs), atMs]);
  }

  /** A plan has replaced this node just now; remembered until the watches must have shown the claim. */
  replaced(nodeUid: string, planId: string, atMs: number): void {
    for (const [uid, entry] of this.#replaced) if (entry.atMs <= atMs - watchLagMs) this.#replaced.delete(uid);
    this.#replaced.set(nodeUid, { planId, atMs });
  }

  replacedBy(nodeUid: string, nowMs: number): string | undefined {
    const entry = this.#replaced.get(nodeUid);
    return entry !== undefined && entry.atMs > nowMs - watchLagMs ? entry.planId : undefined;
  }

  launchesLastMinute(pool: string, nowMs: number): number { return this.#recent(pool, nowMs).length; }

  #recent(pool: string, nowMs: number): number[] { return (this.#launches.get(pool) ?? []).filter((atMs) => atMs > nowMs - minuteMs); }
}

/** Groups remembered; plans older than the oldest of them are refused for their age long before. */
const touchedMax = 100_000;

/** The arithmetic of one round: rooms, promises and limit totals, with every bin that was admitted already counted in. */
export class Ledger {
  readonly nodes: ExistingNode[];
  readonly #world: World;
  readonly #catalog: CatalogView;
  readonly #nowMs: number;
  readonly #indexByUid = new Map<string, number>();
  readonly #promisedNow = new Map<string, string>();
  readonly #usage = new Map<string, Resources>();

  constructor(world: World, catalog: CatalogView, nowMs: number) {
    this.#world = world;
    this.#catalog = catalog;
    this.#nowMs = nowMs;
    this.nodes = [...existingNodes(world, catalog, nowMs)];
    this.nodes.forEach((node, index) => {
      this.#indexByUid.set(node.uid, index);
      const claim = node.claimName === undefined ? undefined : world.claims.one('name', node.claimName);
      if (claim !== undefined) this.#indexByUid.set(claim.uid, index);
    });
  }

  /** A node, or a claim in flight; by the claim's UID too once its node has joined. */
  node(uid: string): ExistingNode | undefined {
    const index = this.#indexByUid.get(uid);
    return index === undefined ? undefined : this.nodes[index];
  }

  /** Whose live promise holds the pod, those of this round included. */
  promisedTo(podUid: string): string | undefined {
    return this.#promisedNow.get(podUid) ?? promiseHolding(this.#world, podUid, this.#nowMs)?.holder.value.name;
  }

  /** What is left of the pool's limited resources. */
  remaining(pool: Pool): Resources {
    const limited = Object.keys(pool.limits);
    if (limited.length === 0) return {};
    const used = this.#usageOf(pool);
    const remaining = subtractResources(pool.limits, used);
    return Object.fromEntries(limited.map((name) => [name, remaining[name] ?? 0]));
  }

  use(pool: Pool, amount: Resources): void {
    this.#usage.set(poolKey(pool.identity), addResources(this.#usageOf(pool), amount));
  }

  addNode(node: ExistingNode): void {
    this.#indexByUid.set(node.uid, this.nodes.length);
    this.nodes.push(node);
    for (const pod of node.promisedPods) this.#promisedNow.set(pod.uid, node.name);
  }

  replaceNode(uid: string, node: ExistingNode): void {
    const index = this.#indexByUid.get(uid);
    if (index === undefined) return;
    this.nodes[index] = node;
    for (const pod of node.promisedPods) this.#promisedNow.set(pod.uid, node.name);
  }

  #usageOf(pool: Pool): Resources {
    const key = poolKey(pool.identity);
    const known = this.#usage.get(key);
    if (known !== undefined) return known;
    const claims = this.#world.claims.by('pool', key).filter((claim) => claim.deletionMs === undefined);
    const used = sumResources(claims.map((claim) => ({ ...claimUsage(claim, typesOfClaim(this.#catalog, this.#world, claim)), nodes: 1 })));
    this.#usage.set(key, used);
    return used;
  }
}
