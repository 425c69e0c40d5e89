import { labels, type NodeClaim, type PoolIdentity, poolKey } from '@dovetail/core-api';
import type { ClusterChange } from '@dovetail/core-cluster';
import { conditionTrueSinceMs, isBoughtByCommand } from '@dovetail/core-disruption';
import type { Clock, Log } from '@dovetail/core-ports';

import type { ReaperCluster } from '../cluster/reaper-cluster.js';
import { Pauses } from './pauses.js';

/**
 * How long a type is left out of the replacements of a pool after a node of it never became usable.
 * It trades savings that this type would have brought for nodes bought in vain: other types replace
 * the same nodes meanwhile. A person mends an image or a driver in hours rather than minutes.
 */
const pauseTimes = { firstMs: 3_600_000, maxMs: 14_400_000 } as const;

/** A node that ends younger may still have become usable: most take one to three minutes. */
const bootMsMax = 300_000;

const typeOf = ({ labels: held }: Pick<NodeClaim, 'labels'>): string | undefined =>
  held[labels.instanceType];

const isInitialized = (claim: NodeClaim): boolean =>
  conditionTrueSinceMs(claim, 'Initialized') !== undefined;

/**
 * The types of which a command bought a node that never became usable. Without this, the same
 * broken type would be bought for each under-used node of the pool in turn. After its pause a type
 * is tried with one node at a time, until one becomes usable. A restart forgets it.
 */
export class VainTypes {
  readonly #cluster: ReaperCluster;
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #log: Log;
  readonly #pauses: Pauses;
  /** When a node of the type last ended in vain, by pool and type. */
  readonly #failedMs = new Map<string, number>();

  constructor(
    cluster: ReaperCluster,
    { clock, log }: { readonly clock: Clock; readonly log: Log },
  ) {
    this.#cluster = cluster;
    this.#clock = clock;
    this.#log = log;
    this.#pauses = new Pauses(clock, pauseTimes);
    cluster.subscribe((change) => this.#take(change));
  }

  /** Whether no node of this type is to be bought for a command in this pool now. */
  isLeftOut(pool: PoolIdentity, instanceType: string): boolean {
    const key = keyOf(pool, instanceType);
    if (this.#pauses.pauses(key)) return true;
    const failedMs = this.#failedMs.get(key);
    if (failedMs === undefined) return false;
    const claims = this.#cluster.claims.by('pool', poolKey(pool));
    const isUsable = (claim: NodeClaim): boolean =>
      typeOf(claim) === instanceType && claim.createdMs > failedMs && isInitialized(claim);
    if (!claims.some(isUsable)) return claims.some((claim) => isTried(claim, instanceType));
    this.#failedMs.delete(key);
    return false;
  }

  #take(change: ClusterChange): void {
    if (change.kind !== 'claim' || change.before === undefined) return;
    const { before, after } = change;
    if (before.deletionMs !== undefined) return;
    if (after === undefined || after.deletionMs !== undefined) this.#noteEnd(before);
  }

  /** Notes the end of a claim that a command bought, if its node never became usable. */
  #noteEnd(claim: NodeClaim): void {
    const nowMs = this.#clock.nowMs();
    const instanceType = typeOf(claim);
    if (instanceType === undefined || !isBoughtByCommand(claim) || isInitialized(claim)) return;
    if (nowMs - claim.createdMs < bootMsMax) return;
    const key = keyOf(claim.pool, instanceType);
    this.#failedMs.set(key, nowMs);
    // Those that were bought before the first of them failed are no further try.
    if (this.#pauses.pauses(key)) return;
    this.#pauses.begin(key, { sinceMs: claim.createdMs });
    const minutes = Math.ceil(((this.#pauses.untilMs(key) ?? nowMs) - nowMs) / 60_000);
    const pool = poolKey(claim.pool);
    this.#log.warn(
      'type-left-out',
      `${instanceType} is left out of the replacements of ${pool} for ${String(minutes)} min: ${claim.name} did not become usable`,
      { claim: claim.name, pool, type: instanceType, minutes },
    );
  }
}

const keyOf = (pool: PoolIdentity, instanceType: string): string =>
  `${poolKey(pool)} ${instanceType}`;

/** Whether a command has bought this claim, of this type or of one not known yet, and it boots. */
const isTried = (claim: NodeClaim, instanceType: string): boolean =>
  isBoughtByCommand(claim) &&
  claim.deletionMs === undefined &&
  !isInitialized(claim) &&
  (typeOf(claim) ?? instanceType) === instanceType;
