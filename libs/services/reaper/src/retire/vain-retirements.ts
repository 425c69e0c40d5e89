import type { NodeClaim } from '@dovetail/core-api';
import { Pauses, type VainWork } from '@dovetail/core-cluster';
import {
  type DisruptionNote,
  type LeftAlone,
  leftAloneAnnotation,
  leftAloneNote,
  parseLeftAlone,
} from '@dovetail/core-disruption';

import type { ReaperContext } from '../context.js';
import { writeLeftAlone } from '../outside/claim-edits.js';

/**
 * Claims whose retirement was given up: what stopped it may be there for longer, so that each
 * pauses, longer each time. The pause stands on the claim as well. Without that, a new leader would
 * buy the same replacement in vain again.
 */
export class VainRetirements {
  readonly #context: ReaperContext;
  /** By UID of the claim. */
  readonly #pauses: Pauses;
  readonly #notes = new Map<string, DisruptionNote>();

  constructor(context: ReaperContext) {
    this.#context = context;
    this.#pauses = new Pauses(context.deps.clock, context.config.disruption.abandonPause);
  }

  /** Until when a claim pauses, in milliseconds since 1970; undefined when it does not. */
  pausedUntilMs(claim: NodeClaim): number | undefined {
    this.#resume(claim);
    return this.#pauses.untilMs(claim.uid);
  }

  /** Whether a claim pauses after its retirement was given up. An interruption does not ask. */
  pauses(claim: NodeClaim): boolean {
    return this.pausedUntilMs(claim) !== undefined;
  }

  /** The reason for which a claim pauses; undefined when it does not. */
  noteOn(claim: NodeClaim): DisruptionNote | undefined {
    if (!this.pauses(claim)) return undefined;
    const written = this.#writtenOn(claim);
    return (
      this.#notes.get(claim.uid) ?? (written === undefined ? undefined : leftAloneNote(written))
    );
  }

  /**
   * Leaves a claim alone for a while. Resolves once that is written. It counts from the call on,
   * and again where the same work is given up once more, because a write after it has failed.
   */
  async pause(claim: NodeClaim, why: DisruptionNote, work: VainWork = {}): Promise<void> {
    this.#resume(claim);
    const { untilMs, lengthMs } = this.#pauses.begin(claim.uid, work);
    this.#notes.set(claim.uid, why);
    for (const uid of this.#notes.keys())
      if (this.#pauses.untilMs(uid) === undefined) this.#notes.delete(uid);
    const { kube } = this.#context.deps;
    await writeLeftAlone(kube, claim, { untilMs, lengthMs, why: why.message });
  }

  #resume(claim: NodeClaim): void {
    if (this.#pauses.knows(claim.uid)) return;
    const written = this.#writtenOn(claim);
    if (written !== undefined) this.#pauses.resume(claim.uid, written);
  }

  #writtenOn({ annotations: held }: NodeClaim): LeftAlone | undefined {
    return parseLeftAlone(held[leftAloneAnnotation], this.#context.deps.clock.nowMs());
  }
}
