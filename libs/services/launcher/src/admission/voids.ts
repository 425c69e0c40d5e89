import type { NodeClaim } from '@dovetail/core-api';
import type { Clock, Log, Metrics, StopSignal } from '@dovetail/core-ports';
import { inParallel } from '../loop/in-parallel.js';
import { Latch } from '../loop/latch.js';
import type { World } from '../world/world.js';
import type { Writer } from '../world/writer.js';
import { lateClaims, yieldingClaims } from './take-over.js';

export type VoidsDeps = {
  readonly clock: Clock; readonly log: Log; readonly metrics: Metrics; readonly world: World; readonly writer: Writer;
  readonly term: { readonly epoch: number; readonly inherited: ReadonlySet<string> };
};

const retryMs = 500;

/** Finds claims that must not be launched, by a deposed leader's hand or naming another's pods, and deletes them. */
export class Voids {
  readonly #deps: VoidsDeps;
  readonly #latch = new Latch();
  #known: ReadonlyMap<string, NodeClaim> | undefined;

  constructor(deps: VoidsDeps) {
    this.#deps = deps;
    deps.world.subscribe((kind) => { if (kind === 'claim') { this.#known = undefined; this.#latch.raise(); } });
  }

  isVoid(claim: NodeClaim): boolean { return this.#now().has(claim.uid); }

  async run(stop: StopSignal): Promise<void> {
    const { log, metrics, writer, clock } = this.#deps;
    this.#latch.raise();
    while (!stop.aborted) {
      await this.#latch.wait(stop);
      if (stop.aborted) return;
      try {
        await inParallel([...this.#now().values()], 8, async (claim) => {
          log.warn('claim-void', 'a claim is taken back: it was made by a deposed launcher, or names pods that another claim names', { claim: claim.name });
          metrics.count('dovetail_claims_voided_total', {});
          await writer.deleteClaim(claim);
        });
      } catch (error) {
        log.warn('claim-not-voided', 'a void claim could not be deleted, it is tried again', { error: String(error) });
        await clock.sleep(retryMs, stop);
        this.#latch.raise();
      }
    }
  }

  #now(): ReadonlyMap<string, NodeClaim> {
    const { world, term, clock } = this.#deps;
    this.#known ??= new Map([...lateClaims(world, term), ...yieldingClaims(world, clock.nowMs())].map((claim) => [claim.uid, claim]));
    return this.#known;
  }
}
