import type { NodeClaim } from '@dovetail/core-api';
import type { Cluster } from '@dovetail/core-cluster';
import type { Clock, Log, Metrics, StopSignal, Vitals } from '@dovetail/core-ports';
import { inParallel, Wake } from '@dovetail/service-kit';

import type { ClusterWriter } from '../cluster/cluster-writer.js';
import { isLate, lateClaims, yieldingClaims, yields } from './take-over.js';

/** The mirror of claims, the means to delete them, and the epoch that judges them. */
export type VoidClaimsDeps = {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly vitals: Vitals;
  readonly cluster: Cluster;
  readonly writer: ClusterWriter;
  readonly epoch: { readonly number: number; readonly inherited: ReadonlySet<string> };
};

/**
 * Pause after a deletion that failed. It trades calls to an API server in trouble for the time that
 * a void claim stands.
 */
const retryMs = 500;
/** Deletions that last longer are hung: far over the longest wait of the client for its turn. */
const turnMsMax = 300_000;
/**
 * A round writes its claims in a burst of events, and looking at all claims for each would cost
 * their square. `isVoid` looks at one claim at once, so nothing void is launched meanwhile.
 */
const gatherMs = 500;

/**
 * Deletes claims that must not be launched: a deposed launcher made them, or another claim has
 * their pods.
 */
export class VoidClaims {
  readonly #deps: VoidClaimsDeps;
  readonly #wake: Wake;

  constructor(deps: VoidClaimsDeps) {
    this.#deps = deps;
    this.#wake = new Wake(deps.clock);
  }

  /** Whether the claim must not be launched. */
  isVoid(claim: NodeClaim): boolean {
    const { cluster, epoch, clock } = this.#deps;
    // The claim may have changed since the caller read it.
    const newest = cluster.claims.get(claim.uid);
    return (
      newest !== undefined && (isLate(newest, epoch) || yields(cluster, newest, clock.nowMs()))
    );
  }

  /** Deletes void claims until `stop`. */
  async run(stop: StopSignal): Promise<void> {
    const end = this.#deps.cluster.subscribe(({ kind }) => {
      if (kind === 'claim') this.#wake.raise();
    });
    this.#wake.raise();
    while (!stop.aborted) await this.#deleteSome(stop);
    end();
  }

  async #deleteSome(stop: StopSignal): Promise<void> {
    const { log, vitals, clock } = this.#deps;
    await this.#wake.wait(stop);
    await clock.sleep(gatherMs, stop);
    if (stop.aborted) return;
    try {
      await vitals.turn('void-claims', turnMsMax, () => this.#delete(this.#now()));
    } catch (error) {
      log.warn('claim-not-voided', 'a void claim could not be deleted; trying again', {
        error: String(error),
      });
      await clock.sleep(retryMs, stop);
      this.#wake.raise();
    }
  }

  async #delete(claims: readonly NodeClaim[]): Promise<void> {
    const { log, metrics, writer } = this.#deps;
    await inParallel(claims, 8, async (claim) => {
      log.warn(
        'claim-void',
        'a claim is deleted: a deposed launcher made it, or another claim names its pods',
        { claim: claim.name },
      );
      metrics.count('dovetail_claims_voided_total', {});
      await writer.deleteClaim(claim);
    });
  }

  #now(): readonly NodeClaim[] {
    const { cluster, epoch, clock } = this.#deps;
    return [...new Set([...lateClaims(cluster, epoch), ...yieldingClaims(cluster, clock.nowMs())])];
  }
}
