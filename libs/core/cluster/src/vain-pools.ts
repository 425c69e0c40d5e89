import { type NodeClaim, type PoolIdentity, poolKey } from '@dovetail/core-api';
import type { Clock } from '@dovetail/core-ports';

import type { Cluster, ClusterChange } from './cluster.js';
import { Pauses } from './pauses.js';
import { endedInVain, isInitialized, poolTextOf, typeOf } from './vain-types.js';

/**
 * How long a pool is held after nodes of several types never became usable. A class is mended in
 * minutes, and a try once an hour costs as much as one node.
 */
const holdTimes = { firstMs: 60_000, maxMs: 3_600_000 } as const;

/** From so many types on a failure is that of the pool or its class, and not of the types. */
const typesMin = 2;

/** A pool that buys nothing now, and the types that never became usable nodes of it. */
export type PoolHold = {
  readonly pool: PoolIdentity;
  readonly types: readonly string[];
  /** When the hold ends, in milliseconds since 1970. Absent: with the node that is tried. */
  readonly untilMs?: number;
};

/** The clock, and whom to tell that a pool is held. */
export type VainPoolsOptions = {
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly onHeld: (hold: PoolHold & { readonly claim: NodeClaim }) => void;
};

type Failures = { readonly types: Set<string>; lastMs: number };

/**
 * The pools of which nodes of two types never became usable, and none since. Such a pool is held,
 * longer each time, and then tried with one node at a time until one becomes usable. A change of
 * the pool or its class is another try, and a restart forgets all.
 */
export class VainPools {
  readonly #cluster: Cluster;
  readonly #options: VainPoolsOptions;
  readonly #holds: Pauses;
  readonly #failures = new Map<string, Failures>();

  constructor(cluster: Cluster, options: VainPoolsOptions) {
    this.#cluster = cluster;
    this.#options = options;
    this.#holds = new Pauses(options.clock, holdTimes);
  }

  /** Whether nodes of several types failed, so that no type is to blame. */
  isFailing(pool: PoolIdentity): boolean {
    return this.#failing(pool) !== undefined;
  }

  /** Why nothing is bought in the pool now; undefined if it is not held. */
  holdOf(pool: PoolIdentity): PoolHold | undefined {
    const failures = this.#failing(pool);
    if (failures === undefined) return undefined;
    const types = [...failures.types].sort();
    const untilMs = this.#holds.untilMs(poolTextOf(this.#cluster, pool));
    if (untilMs !== undefined) return { pool, types, untilMs };
    const isTried = (claim: NodeClaim): boolean =>
      claim.createdMs > failures.lastMs && claim.deletionMs === undefined && !isInitialized(claim);
    return this.#cluster.claims.by('pool', poolKey(pool)).some(isTried)
      ? { pool, types }
      : undefined;
  }

  /** Takes a change of the cluster. */
  heard(change: ClusterChange): void {
    if (change.kind !== 'claim') return;
    const { before, after } = change;
    if (after !== undefined && isInitialized(after) && !(before && isInitialized(before)))
      this.#failures.delete(poolTextOf(this.#cluster, after.pool));
    const claim = endedInVain(change, this.#options.clock);
    const instanceType = claim === undefined ? undefined : typeOf(claim);
    if (claim !== undefined && instanceType !== undefined) this.#note(claim, instanceType);
  }

  #note(claim: NodeClaim, instanceType: string): void {
    const key = poolTextOf(this.#cluster, claim.pool);
    const nowMs = this.#options.clock.nowMs();
    const known = this.#failures.get(key);
    const failures = known ?? { types: new Set<string>(), lastMs: nowMs };
    failures.types.add(instanceType);
    failures.lastMs = nowMs;
    this.#failures.set(key, failures);
    // Those that were bought before the first of them failed are no further try.
    if (failures.types.size < typesMin || this.#holds.pauses(key)) return;
    const { untilMs } = this.#holds.begin(key, { sinceMs: claim.createdMs });
    const types = [...failures.types].sort();
    this.#options.onHeld({ pool: claim.pool, claim, types, untilMs });
  }

  #failing(pool: PoolIdentity): Failures | undefined {
    if (this.#failures.size === 0) return undefined;
    const failures = this.#failures.get(poolTextOf(this.#cluster, pool));
    return failures !== undefined && failures.types.size >= typesMin ? failures : undefined;
  }
}
