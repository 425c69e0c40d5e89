import {
  cloudEventOf,
  decisionOf,
  HeardIds,
  publishDeadLetter,
  type Reader,
  sinkWorker,
} from '@dovetail/contracts';
import type {
  Clock,
  Log,
  Metrics,
  Outcome,
  Parcel,
  Publisher,
  StopSignal,
  Vitals,
  WorkConsumer,
  WorkItem,
} from '@dovetail/core-ports';
import { keepInHand, untilDone } from '@dovetail/service-kit';

import { type SinkSpec, wants } from '../sink-spec.js';
import { Intake } from './intake.js';
import { oneLine } from './one-line.js';
import { Patience } from './patience.js';

/** The means of a sink. */
export type LineDeps = {
  readonly reader: Reader & { readonly bus: WorkConsumer & Publisher };
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly vitals: Vitals;
};

/** A receiver ends each call by itself, in half of this time. */
const deliveryMsMax = 240_000;

/** A decision that waits for its outcome. */
type Waiting = { readonly item: WorkItem; readonly parcel: Parcel; attempts: number };

/**
 * One sink: it takes decisions from its own consumer, in their order, and settles each before it
 * takes the next ones. A decision is acked once the receiver or the stream of dead letters has it,
 * so that a crash repeats it and loses none.
 */
export class SinkLine {
  readonly #deps: LineDeps;
  readonly #spec: SinkSpec;
  readonly #patience = new Patience();
  readonly #settled = new HeardIds();
  readonly #counts = { sent: 0, deadLetters: 0 };
  #lastFailure = '';
  #sequence = 0;

  constructor(deps: LineDeps, spec: SinkSpec) {
    this.#deps = deps;
    this.#spec = spec;
  }

  get debugState(): Readonly<Record<string, unknown>> {
    const { failures } = this.#patience;
    const failing = failures === 0 ? {} : { failures, lastFailure: this.#lastFailure };
    return { ...this.#counts, sequence: this.#sequence, ...failing };
  }

  /** Delivers until `stop`. */
  async run(stop: StopSignal): Promise<void> {
    const { reader, clock } = this.#deps;
    const { name, from, receiver } = this.#spec;
    const worker = sinkWorker(reader.cluster, { name, from, inFlightMax: receiver.batchMax });
    const intake = new Intake(reader.bus.work(worker, stop), clock);
    this.#showAll();
    await Promise.all([keepInHand(this.#deps, intake.inHand, stop), this.#pass(intake, stop)]);
  }

  async #pass(intake: Intake, stop: StopSignal): Promise<void> {
    while (!stop.aborted) {
      const items = await intake.batch(this.#spec.receiver.batchMax, stop);
      const waiting: Waiting[] = [];
      for (const item of items) {
        const parcel = await this.#parcelOf(item, stop);
        if (parcel === undefined) intake.settled(item);
        else waiting.push({ item, parcel, attempts: 0 });
      }
      if (waiting.length > 0) await this.#settleAll(waiting, intake, stop);
      this.#showLag(0);
    }
  }

  /** Undefined: there is nothing to deliver, and the message is settled. */
  async #parcelOf(item: WorkItem, stop: StopSignal): Promise<Parcel | undefined> {
    const { message } = item;
    this.#sequence = message.sequence;
    const about = `decision ${String(message.sequence)}`;
    const decoded = await untilDone(
      this.#deps,
      about,
      () => decisionOf(this.#deps.reader, message),
      stop,
    );
    if (decoded === undefined) return undefined;
    if (!decoded.ok) {
      const reason = `it cannot be read: ${decoded.field}: ${decoded.reason}`;
      await this.#bury({ item, attempts: 0 }, { label: 'unreadable', reason }, stop);
      return undefined;
    }
    const decision = decoded.value;
    const event = cloudEventOf(message, decision);
    if (event === undefined) {
      const reason = 'it has no id, source or type of a CloudEvent: no service of Dovetail sent it';
      await this.#bury({ item, attempts: 0 }, { label: 'unreadable', reason }, stop);
      return undefined;
    }
    if (wants(this.#spec, decision) && !this.#settled.has(event.id))
      return { event, text: oneLine(decision, this.#deps.reader.cluster) };
    await this.#ack(item);
    return undefined;
  }

  /** All of them in one call first. Those that have to be tried again go one by one. */
  async #settleAll(batch: readonly Waiting[], intake: Intake, stop: StopSignal): Promise<void> {
    const outcomes = await this.#deliver(batch);
    const left: { readonly each: Waiting; readonly outcome: Outcome }[] = [];
    for (const [index, each] of batch.entries()) {
      const outcome = outcomes[index] ?? { kind: 'again', reason: 'the receiver did not answer' };
      if (await this.#settle(each, outcome, stop)) intake.settled(each.item);
      else left.push({ each, outcome });
    }
    for (const { each, outcome } of left) {
      await this.#repeat(each, outcome, stop);
      if (stop.aborted) return;
      intake.settled(each.item);
    }
  }

  /** Tries a decision again, after its wait, until it is settled or `stop`. */
  async #repeat(each: Waiting, first: Outcome, stop: StopSignal): Promise<void> {
    let outcome = first;
    for (;;) {
      const askedMs = outcome.kind === 'again' ? outcome.waitMs : undefined;
      await this.#deps.clock.sleep(this.#patience.waitMs(askedMs), stop);
      if (stop.aborted) return;
      [outcome = outcome] = await this.#deliver([each]);
      if (await this.#settle(each, outcome, stop)) return;
    }
  }

  async #deliver(batch: readonly Waiting[]): Promise<readonly Outcome[]> {
    const { clock, vitals } = this.#deps;
    const oldestMs = Math.min(...batch.map(({ item }) => item.message.timeMs));
    this.#showLag(clock.nowMs() - oldestMs);
    for (const each of batch) each.attempts += 1;
    const parcels = batch.map(({ parcel }) => parcel);
    return await vitals.turn(`sink-${this.#spec.name}`, deliveryMsMax, () =>
      this.#spec.receiver.deliver(parcels),
    );
  }

  /** Returns whether the decision needs no further attempt. */
  async #settle(each: Waiting, outcome: Outcome, stop: StopSignal): Promise<boolean> {
    const { clock, metrics } = this.#deps;
    const { name: sink, giveUpAfterMs } = this.#spec;
    if (outcome.kind === 'taken') {
      this.#patience.answered();
      this.#counts.sent += 1;
      metrics.count('dovetail_sinks_sent_total', { sink });
      await this.#done(each);
      return true;
    }
    metrics.count('dovetail_sinks_failed_total', { sink, reason: outcome.kind });
    this.#lastFailure = outcome.reason;
    const { reason } = outcome;
    if (outcome.kind === 'refused') {
      this.#patience.answered();
      return await this.#bury(each, { label: 'refused', reason }, stop);
    }
    this.#patience.failed();
    const ageMs = clock.nowMs() - each.item.message.timeMs;
    if (this.#patience.isOver(ageMs, giveUpAfterMs))
      return await this.#bury(each, { label: 'too-late', reason }, stop);
    this.#warnOf(each, reason);
    return false;
  }

  #warnOf({ item, attempts }: Waiting, reason: string): void {
    const { name: sink } = this.#spec;
    this.#deps.log.warn('sink-failing', `sink ${sink}: ${reason}; trying again`, {
      sink,
      attempts,
      sequence: item.message.sequence,
    });
  }

  /** Keeps the decision as a dead letter. While the bus is away it waits. False: stopped. */
  async #bury(
    { item, attempts }: Pick<Waiting, 'item' | 'attempts'>,
    { label, reason }: { readonly label: string; readonly reason: string },
    stop: StopSignal,
  ): Promise<boolean> {
    const { log, metrics, reader } = this.#deps;
    const { name: sink } = this.#spec;
    const { message } = item;
    const kept = await untilDone(
      this.#deps,
      'the stream of dead letters',
      () => publishDeadLetter(reader, { sink, message, reason, attempts }),
      stop,
    );
    if (kept === undefined) return false;
    this.#counts.deadLetters += 1;
    metrics.count('dovetail_sinks_dead_letters_total', { sink, reason: label });
    const fields = { sink, attempts, sequence: message.sequence };
    log.warn('sink-dead-letter', `sink ${sink} gave a decision up (${label}): ${reason}`, fields);
    await this.#ack(item);
    return true;
  }

  async #done({ item, parcel }: Waiting): Promise<void> {
    this.#settled.add(parcel.event.id);
    await this.#ack(item);
  }

  /** If the ack is lost the bus delivers the message again, and it is recognised by its id. */
  async #ack(item: WorkItem): Promise<void> {
    await item
      .ack()
      .catch((error: unknown) =>
        this.#deps.log.debug(
          'sink-ack-lost',
          'the bus did not learn that a decision is delivered',
          { sink: this.#spec.name, error: String(error) },
        ),
      );
  }

  /**
   * All series from the start: `rate` does not see the first increase of one that appears with it.
   */
  #showAll(): void {
    const { metrics } = this.#deps;
    const { name: sink } = this.#spec;
    metrics.count('dovetail_sinks_sent_total', { sink }, 0);
    for (const reason of ['again', 'refused'])
      metrics.count('dovetail_sinks_failed_total', { sink, reason }, 0);
    for (const reason of ['refused', 'too-late', 'unreadable'])
      metrics.count('dovetail_sinks_dead_letters_total', { sink, reason }, 0);
    this.#showLag(0);
  }

  #showLag(ageMs: number): void {
    const seconds = Math.max(0, ageMs) / 1_000;
    this.#deps.metrics.set('dovetail_sinks_lag_seconds', seconds, { sink: this.#spec.name });
  }
}
