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

/**
 * How much dearer a node may become because types are left out: the next size of a family costs
 * twice as much. A failure that is not the type's must not buy ever larger nodes.
 */
const dearerTimesMax = 2;

const leastPrice = (options: readonly { readonly priceMicrosPerHour: number }[]): number =>
  options.reduce((least, { priceMicrosPerHour }) => Math.min(least, priceMicrosPerHour), Infinity);

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

/** The type of a claim's instance; undefined before it is launched. */
export const typeOf = ({ labels: held }: Pick<NodeClaim, 'labels'>): string | undefined =>
  held[labels.instanceType];

/** Whether the claim's node became usable. */
export const isInitialized = ({ conditions }: NodeClaim): boolean =>
  conditions.some(({ type, status }) => type === 'Initialized' && status === 'True');

/** The claim whose end this change shows, if its node had the time to become usable and did not. */
export function endedInVain(
  { before, after }: Extract<ClusterChange, { readonly kind: 'claim' }>,
  clock: Pick<Clock, 'nowMs'>,
): NodeClaim | undefined {
  if (before === undefined || before.deletionMs !== undefined) return undefined;
  if (after !== undefined && after.deletionMs === undefined) return undefined;
  const isVain = !isInitialized(before) && clock.nowMs() - before.createdMs >= bootMsMax;
  return isVain ? before : undefined;
}

/** The text of a pool as it is now: another after a change of the pool or its class. */
export function poolTextOf(cluster: Cluster, identity: PoolIdentity): string {
  const pool = cluster.pools.one('key', poolKey(identity));
  const nodeClass =
    pool === undefined ? undefined : cluster.nodeClasses.one('key', classKey(pool.classRef));
  return [poolKey(identity), pool?.generation ?? '', nodeClass?.generation ?? ''].join(' ');
}

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

  /**
   * Those of these options whose types are not left out. All of them, if none would be left or if
   * the cheapest that is left costs more than `dearerTimesMax` times as much.
   */
  usable<T extends { readonly instanceType: string; readonly priceMicrosPerHour: number }>(
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
    if (left.length === 0 || left.length === options.length) return options;
    return leastPrice(left) > dearerTimesMax * leastPrice(options) ? options : left;
  }

  /** Takes a change of the cluster. */
  heard(change: ClusterChange): void {
    if (change.kind !== 'claim') return;
    const claim = endedInVain(change, this.#options.clock);
    if (claim !== undefined) this.#noteEnd(claim);
  }

  /** Notes the end of a claim whose node never became usable, if it counts. */
  #noteEnd(claim: NodeClaim): void {
    const { clock, counts, onLeftOut } = this.#options;
    const nowMs = clock.nowMs();
    const instanceType = typeOf(claim);
    if (instanceType === undefined || !counts(claim)) return;
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
    return `${poolTextOf(this.#cluster, identity)} ${instanceType}`;
  }
}
