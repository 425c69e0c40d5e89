import {
  type PendingBatch,
  placeIn,
  type PlanMessage,
  publishPlan,
  type Work,
  workBatches,
} from '@dovetail/contracts';
import { BusError, messageOf, Stopper, type StopSignal } from '@dovetail/core-ports';
import { countMalformed, keepInHand } from '@dovetail/service-kit';

import type { SolverConfig, TellingDeps } from './config.js';
import { decisionOfUnreadable } from './decisions.js';
import { Failures } from './failures.js';
import { observeWait } from './observations.js';
import { tellPlan } from './plan-teller.js';

/** The longest wait for a change of the mirror before the engine is asked again. */
const changeWaitMs = 250;
/** How soon another solver may take a batch that is ahead of this mirror. */
const behindMs = 1_000;
/** How soon a batch that failed comes again. Each further failure adds as much. */
const failedMs = 500;
/** A batch that takes longer is hung: far over its patience, its planning and all their waits. */
const batchMsMax = 600_000;

/** How long a batch that was given back is left to other solvers. An idle one asks all the time. */
const othersMs = 10;
/** How long a solver that found no idle one looks for none. */
const aloneMs = 1_000;

type Batch = Work<PendingBatch>;

/** Plans the batches of the queue, one at a time. */
export class BatchPlanner {
  readonly #deps: TellingDeps;
  readonly #config: SolverConfig;
  readonly #failures = new Failures();
  /** Until then no other solver is taken to be idle. */
  #aloneUntilMs = Number.NEGATIVE_INFINITY;

  constructor(deps: TellingDeps, config: SolverConfig) {
    this.#deps = deps;
    this.#config = config;
  }

  /** Plans batches until `stop`. */
  async run(stop: StopSignal): Promise<void> {
    for await (const work of workBatches(this.#deps.channel, stop)) {
      await this.#deps.vitals.turn('batches', batchMsMax, () => this.#take(work, stop));
    }
  }

  async #take(work: Batch, stop: StopSignal): Promise<void> {
    try {
      if (this.#passesOn(work)) await this.#passOn(work, stop);
      else if (work.read.ok) await this.#plan(work, work.read.value, stop);
      else await this.#refuse(work, work.read);
      this.#failures.clear(work.item.message);
    } catch (error) {
      await this.#giveBack(work, error);
    }
  }

  /** Gives a batch back, and leaves it to the others for a moment. */
  async #passOn({ item }: Batch, stop: StopSignal): Promise<void> {
    await item.nak(0);
    await this.#deps.channel.clock.sleep(othersMs, stop);
  }

  /**
   * Whether a solver that is idle should have the batch, because this one explores. A batch that
   * comes here again found no idle solver, so neither would the next ones.
   */
  #passesOn({ item }: Batch): boolean {
    const { engine, channel } = this.#deps;
    if (!engine.exploring()) return false;
    const nowMs = channel.clock.nowMs();
    if (item.deliveries > 1) this.#aloneUntilMs = nowMs + aloneMs;
    return nowMs >= this.#aloneUntilMs;
  }

  async #plan(work: Batch, batch: PendingBatch, stop: StopSignal): Promise<void> {
    const { channel, engine, log } = this.#deps;
    const takenMs = channel.clock.nowMs();
    observeWait(this.#deps, 'batch', takenMs - batch.cutAtMs);
    const untilMs = takenMs + this.#config.patienceMs;
    for (;;) {
      const solved = await this.#keeping(work, () =>
        engine.solveBatch(batch, this.#config.budgetMs),
      );
      if (solved.kind === 'plan') return this.#finish(work, solved.message, stop);
      if (solved.kind !== 'behind') return work.item.ack();
      const leftMs = untilMs - channel.clock.nowMs();
      if (leftMs <= 0 || stop.aborted) break;
      await this.#keeping(work, () => engine.changed(Math.min(changeWaitMs, leftMs)));
    }
    // This is no failure: the batch was cut from a feed that this mirror does not have yet. Another
    // solver may have it, or a newer batch will come.
    log.warn(
      'mirror-behind',
      'the mirror did not reach the batch in time; another solver may take it',
      { group: batch.group, position: batch.statePosition },
    );
    return work.item.nak(behindMs);
  }

  /** Runs some work while telling the queue that the batch is still in hand. */
  async #keeping<T>(work: Batch, run: () => Promise<T>): Promise<T> {
    const done = new Stopper();
    const { channel, log } = this.#deps;
    void keepInHand({ clock: channel.clock, log }, [work.item], done);
    try {
      return await run();
    } finally {
      done.abort();
    }
  }

  /** Sends a plan. The next batch does not wait for the proof of its bound. */
  async #finish(work: Batch, message: PlanMessage, stop: StopSignal): Promise<void> {
    const batch = placeIn(work.item.message.headers);
    await publishPlan(this.#deps.channel, message, batch);
    await work.item.ack();
    void tellPlan(this.#deps, message, {
      boundMs: this.#config.boundMs,
      stop,
      planFor: 'provisioner',
      batch,
    });
  }

  /** Ends an unreadable batch with a decision. Reading it again would not help. */
  async #refuse(
    { item }: Batch,
    wrong: { readonly field: string; readonly reason: string },
  ): Promise<void> {
    const { decisions, log, metrics } = this.#deps;
    const { subject } = item.message;
    const { field, reason } = wrong;
    log.error('batch-malformed', `a batch cannot be read: ${field}: ${reason}`, { subject });
    countMalformed(metrics, { message: 'PendingBatch', field });
    decisions.tell(decisionOfUnreadable(item.message, wrong));
    await item.ack();
  }

  /**
   * Gives a batch back after a failure, and ends it after too many. A failing bus does not count
   * against the batch.
   */
  async #giveBack(work: Batch, error: unknown): Promise<void> {
    const { log, metrics } = this.#deps;
    const { message } = work.item;
    const isBus = error instanceof BusError;
    const failed = isBus ? 0 : this.#failures.add(message);
    if (!isBus) metrics.count('dovetail_solver_failures_total');
    // A bus that fails is told of as such; the batch comes again.
    const what = isBus
      ? 'the bus failed a batch'
      : `planning a batch failed (${String(failed)} times here)`;
    const text = `${what}: ${messageOf(error)}; it comes again`;
    log[isBus ? 'warn' : 'error']('batch-failed', text, { subject: message.subject });
    try {
      if (failed >= this.#config.failuresMax) await this.#end(work, failed, error);
      else await work.item.nak(failedMs * Math.max(1, failed));
    } catch (lost) {
      log.warn(
        'batch-unanswered',
        `a batch could neither be acked nor given back: ${messageOf(lost)}; it will be delivered again`,
      );
    }
  }

  async #end({ item }: Batch, failed: number, error: unknown): Promise<void> {
    const wrong = {
      field: 'batch',
      reason: `planning failed ${String(failed)} times: ${messageOf(error)}`,
    };
    this.#deps.decisions.tell(decisionOfUnreadable(item.message, wrong));
    await item.ack();
  }
}
