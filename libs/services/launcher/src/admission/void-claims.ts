import type { NodeClaim } from '@dovetail/core-api';
import type { Cluster } from '@dovetail/core-cluster';
import type { Clock, Log, Metrics, StopSignal } from '@dovetail/core-ports';
import { inParallel, Wake } from '@dovetail/service-kit';

import type { ClusterWriter } from '../cluster/cluster-writer.js';
import { lateClaims, yieldingClaims } from './take-over.js';

/** The mirror of claims, the means to delete them, and the epoch that judges them. */
export type VoidClaimsDeps = {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly cluster: Cluster;
  readonly writer: ClusterWriter;
  readonly epoch: { readonly number: number; readonly inherited: ReadonlySet<string> };
};

/**
 * Pause after a deletion that failed. It trades calls to an API server in trouble for the time that
 * a void claim stands.
 */
const retryMs = 500;
/**
 * A round writes its claims in a burst of events, and looking at all claims for each would cost
 * their square. `isVoid` looks at once, so nothing void is launched meanwhile.
 */
const gatherMs = 50;

/**
 * Deletes claims that must not be launched: a deposed launcher made them, or another claim has
 * their pods.
 */
export class VoidClaims {
  readonly #deps: VoidClaimsDeps;
  readonly #wake: Wake;
  #known: ReadonlyMap<string, NodeClaim> | undefined;
  /** Whether changes of claims are heard of, so that `#known` may be kept until the next. */
  #isListening = false;

  constructor(deps: VoidClaimsDeps) {
    this.#deps = deps;
    this.#wake = new Wake(deps.clock);
  }

  /** Whether the claim must not be launched. */
  isVoid(claim: NodeClaim): boolean {
    return this.#now().has(claim.uid);
  }

  /** Deletes void claims until `stop`. */
  async run(stop: StopSignal): Promise<void> {
    const end = this.#deps.cluster.subscribe(({ kind }) => {
      if (kind !== 'claim') return;
      this.#known = undefined;
      this.#wake.raise();
    });
    this.#isListening = true;
    this.#wake.raise();
    while (!stop.aborted) await this.#deleteSome(stop);
    this.#isListening = false;
    this.#known = undefined;
    end();
  }

  async #deleteSome(stop: StopSignal): Promise<void> {
    const { log, metrics, writer, clock } = this.#deps;
    await this.#wake.wait(stop);
    await clock.sleep(gatherMs, stop);
    if (stop.aborted) return;
    try {
      await inParallel([...this.#now().values()], 8, async (claim) => {
        log.warn(
          'claim-void',
          'a claim is deleted: a deposed launcher made it, or another claim names its pods',
          { claim: claim.name },
        );
        metrics.count('dovetail_claims_voided_total', {});
        await writer.deleteClaim(claim);
      });
    } catch (error) {
      log.warn('claim-not-voided', 'a void claim could not be deleted; trying again', {
        error: String(error),
      });
      await clock.sleep(retryMs, stop);
      this.#wake.raise();
    }
  }

  #now(): ReadonlyMap<string, NodeClaim> {
    const { cluster, epoch, clock } = this.#deps;
    if (this.#isListening && this.#known !== undefined) return this.#known;
    this.#known = new Map(
      [...lateClaims(cluster, epoch), ...yieldingClaims(cluster, clock.nowMs())].map((claim) => [
        claim.uid,
        claim,
      ]),
    );
    return this.#known;
  }
}
