import { publishPlanRecord, publishRecordPart, streamName } from '@dovetail/contracts';
import { messageOf } from '@dovetail/core-ports';

import type { SolverDeps } from './config.js';

/** A record that takes longer is hung: the slowest are those of thousands of nodes. */
const recordMsMax = 120_000;

/**
 * Keeps what plans were made from on the bus, one plan after the other. Nothing waits for it. A
 * failure costs the record and nothing else.
 */
export class Recorder {
  readonly #deps: SolverDeps;
  #before: Promise<void> = Promise.resolve();
  /** The stream in which parts were kept, and the oldest of those that count as kept. */
  #kept: { readonly incarnation: string; oldestSequence: number } | undefined;

  constructor(deps: SolverDeps) {
    this.#deps = deps;
  }

  /** Records the plan of this id, after those before it. Resolves when it is done or has failed. */
  record(planId: string): Promise<void> {
    const { vitals } = this.#deps;
    this.#before = this.#before.then(() =>
      vitals.turn('records', recordMsMax, () => this.#write(planId)),
    );
    return this.#before;
  }

  async #write(planId: string): Promise<void> {
    const { metrics, log } = this.#deps;
    try {
      await this.#missParts();
      const outcome = await this.#slices(planId);
      metrics.count('dovetail_solver_records_total', { outcome });
    } catch (error) {
      metrics.count('dovetail_solver_records_total', { outcome: 'failed' });
      log.warn('record-failed', `a plan cannot be made again later: ${messageOf(error)}`, {
        plan: planId,
      });
      await this.#forget();
    }
  }

  async #forget(): Promise<void> {
    this.#kept = undefined;
    await this.#deps.engine.forgetRecords();
  }

  /**
   * Has all parts written anew once one of them may be gone: the stream was lost or purged, or it
   * is full and lets its oldest go. A record without a part cannot be read.
   */
  async #missParts(): Promise<void> {
    const { bus, cluster } = this.#deps.channel;
    const { incarnation, firstSequence } = await bus.position(streamName(cluster, 'records'));
    const { incarnation: before = incarnation, oldestSequence = Infinity } = this.#kept ?? {};
    if (before !== incarnation || oldestSequence < firstSequence) await this.#forget();
    this.#kept ??= { incarnation, oldestSequence: Infinity };
  }

  async #slices(planId: string): Promise<'kept' | 'left-out'> {
    const { engine, channel, packing } = this.#deps;
    for (;;) {
      const slice = await engine.record(planId);
      if (slice === undefined) return 'left-out';
      const acks = await Promise.all(
        slice.parts.map((part) => publishRecordPart(channel, part, packing)),
      );
      for (const { sequence } of acks)
        if (this.#kept !== undefined && sequence < this.#kept.oldestSequence)
          this.#kept.oldestSequence = sequence;
      if (slice.record === undefined) continue;
      await publishPlanRecord(channel, slice.record);
      return 'kept';
    }
  }
}
