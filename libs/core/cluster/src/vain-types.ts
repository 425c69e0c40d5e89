import { labels, type NodeClaim, type PoolIdentity, poolKey } from '@dovetail/core-api';
import type { Clock } from '@dovetail/core-ports';

import type { Cluster, ClusterChange } from './cluster.js';
import { classKey } from './kinds.js';
import { Pauses } from './pauses.js';

/**
 * How long a type is left out of a pool after a node of it never became usable. It trades savings
 * that this type would have brought for nodes bought in vain: other types take its place meanwhile.
 * A person mends an image or a driver in hours rather than minutes.
 */
const pauseTimes = { firstMs: 3_600_000, maxMs: 14_400_000 } as const;

/** After as long a failure says nothing any more. */
const forgetMs = 2 * pauseTimes.maxMs;

/** A node that ends younger may still have become usable: most take one to three minutes. */
const bootMsMax = 300_000;

/** A type that is left out from now on, and the claim whose node did not become usable. */
export type LeftOut = {
  readonly claim: NodeClaim;
  readonly instanceType: string;
  readonly untilMs: number;
};

/** The claims that count, and whom to tell. */
export type VainTypesOptions = {
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Whether the end of a claim counts. */
  readonly counts: (claim: NodeClaim) => boolean;
  readonly onLeftOut: (leftOut: LeftOut) => void;
};

const typeOf = ({ labels: held }: Pick<NodeClaim, 'labels'>): string | undefined =>
  held[labels.instanceType];

const isInitialized = ({ conditions }: NodeClaim): boolean =>
  conditions.some(({ type, status }) => type === 'Initialized' && status === 'True');

/**
 * The types of which a node of a pool never became usable. Without this, the same broken type would
 * be bought again and again. After its pause a type is tried with one node at a time, until one
 * becomes usable. A change of the pool or its class is another try, and a restart forgets all.
 */
export class VainTypes {
  readonly #cluster: Cluster;
  readonly #options: VainTypesOptions;
  readonly #pauses: Pauses;
  /** When a node of the type last ended in vain, by pool and type. */
  readonly #failedMs = new Map<string, number>();

  constructor(cluster: Cluster, options: VainTypesOptions) {
    this.#cluster = cluster;
    this.#options = options;
    this.#pauses = new Pauses(options.clock, pauseTimes);
  }

  /** Whether no node of this type is to be bought in this pool now. */
  isLeftOut(pool: PoolIdentity, instanceType: string): boolean {
    if (this.#failedMs.size === 0) return false;
    const key = this.#keyOf(pool, instanceType);
    if (this.#pauses.pauses(key)) return true;
    const failedMs = this.#failedMs.get(key);
    if (failedMs === undefined) return false;
    const claims = this.#cluster.claims.by('pool', poolKey(pool));
    const isUsable = (claim: NodeClaim): boolean =>
      typeOf(claim) === instanceType && claim.createdMs > failedMs && isInitialized(claim);
    if (!claims.some(isUsable)) return claims.some((claim) => this.#isTried(claim, instanceType));
    this.#failedMs.delete(key);
    return false;
  }

  /** Those of these options whose types are not left out; all of them if none would be left. */
  usable<T extends { readonly instanceType: string }>(
    pool: PoolIdentity,
    options: readonly T[],
  ): readonly T[] {
    if (this.#failedMs.size === 0) return options;
    const known = new Map<string, boolean>();
    const isOut = ({ instanceType }: T): boolean => {
      const isLeftOut = known.get(instanceType) ?? this.isLeftOut(pool, instanceType);
      known.set(instanceType, isLeftOut);
      return isLeftOut;
    };
    const left = options.filter((option) => !isOut(option));
    return left.length === 0 || left.length === options.length ? options : left;
  }

  /** Takes a change of the cluster. */
  heard(change: ClusterChange): void {
    if (change.kind !== 'claim' || change.before === undefined) return;
    const { before, after } = change;
    if (before.deletionMs !== undefined) return;
    if (after === undefined || after.deletionMs !== undefined) this.#noteEnd(before);
  }

  /** Notes the end of a claim that counts, if its node never became usable. */
  #noteEnd(claim: NodeClaim): void {
    const { clock, counts, onLeftOut } = this.#options;
    const nowMs = clock.nowMs();
    const instanceType = typeOf(claim);
    if (instanceType === undefined || !counts(claim) || isInitialized(claim)) return;
    if (nowMs - claim.createdMs < bootMsMax) return;
    const key = this.#keyOf(claim.pool, instanceType);
    for (const [other, failedMs] of this.#failedMs)
      if (nowMs - failedMs > forgetMs) this.#failedMs.delete(other);
    this.#failedMs.set(key, nowMs);
    // Those that were bought before the first of them failed are no further try.
    if (this.#pauses.pauses(key)) return;
    this.#pauses.begin(key, { sinceMs: claim.createdMs });
    onLeftOut({ claim, instanceType, untilMs: this.#pauses.untilMs(key) ?? nowMs });
  }

  /** Whether a claim that counts, of this type or of one not known yet, is on its way. */
  #isTried(claim: NodeClaim, instanceType: string): boolean {
    if (!this.#options.counts(claim) || claim.deletionMs !== undefined) return false;
    return !isInitialized(claim) && (typeOf(claim) ?? instanceType) === instanceType;
  }

  #keyOf(identity: PoolIdentity, instanceType: string): string {
    const pool = this.#cluster.pools.one('key', poolKey(identity));
    const nodeClass =
      pool === undefined
        ? undefined
        : this.#cluster.nodeClasses.one('key', classKey(pool.classRef));
    const generations = [pool?.generation ?? '', nodeClass?.generation ?? ''];
    return [poolKey(identity), ...generations, instanceType].join(' ');
  }
}
