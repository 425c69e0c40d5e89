import { publishPlanRecord, publishRecordPart } from '@dovetail/contracts';
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
    const { engine, metrics, log } = this.#deps;
    try {
      const outcome = await this.#slices(planId);
      metrics.count('dovetail_solver_records_total', { outcome });
    } catch (error) {
      metrics.count('dovetail_solver_records_total', { outcome: 'failed' });
      log.warn('record-failed', `a plan cannot be made again later: ${messageOf(error)}`, {
        plan: planId,
      });
      await engine.forgetRecords();
    }
  }

  async #slices(planId: string): Promise<'kept' | 'left-out'> {
    const { engine, channel, packing } = this.#deps;
    for (;;) {
      const slice = await engine.record(planId);
      if (slice === undefined) return 'left-out';
      await Promise.all(slice.parts.map((part) => publishRecordPart(channel, part, packing)));
      if (slice.record === undefined) continue;
      await publishPlanRecord(channel, slice.record);
      return 'kept';
    }
  }
}
