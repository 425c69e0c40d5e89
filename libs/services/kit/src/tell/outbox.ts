import {
  BusError,
  type BusErrorCode,
  type Clock,
  type Log,
  messageOf,
  type Metrics,
  type StopSignal,
} from '@dovetail/core-ports';

import { Wake } from '../work/wake.js';

/** A message for the bus; no work waits for it. */
export type OutboxMessage = {
  /** A later message of the same key takes the place of an earlier one that still waits. */
  readonly key: string;
  readonly send: () => Promise<unknown>;
  /** The time, in milliseconds since 1970, after which sending is pointless. */
  readonly untilMs?: number;
};

/** How many messages wait, and what becomes of those that cannot be sent. */
export type OutboxOptions = {
  readonly clock: Clock;
  /** The most messages that wait. Beyond it, the oldest are dropped. Invariant: 1 <= waitingMax. */
  readonly waitingMax: number;
  /** Pause after a failure, in milliseconds. */
  readonly retryMs: number;
  readonly onError: (key: string, error: unknown) => void;
  /** Whether sending the same message again would fail the same way. If so, it is dropped. */
  readonly isHopeless: (error: unknown) => boolean;
  readonly onDropped: (count: number) => void;
};

/**
 * Sends messages in order, and repeats each until the bus takes it. It should run as long as the
 * process, not the epoch: a leader's decision stays true after its epoch.
 *
 * Invariant: every added message is sent, replaced by a later one of its key, dropped and reported,
 * or expired. A message is sent only after all that were added before.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  readonly #wake: Wake;
  readonly #waiting = new Map<string, OutboxMessage>();

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#wake = new Wake(options.clock);
  }

  add(message: OutboxMessage): void {
    this.#waiting.delete(message.key);
    this.#waiting.set(message.key, message);
    this.#dropOldest();
    this.#wake.raise();
  }

  /** Messages that wait, including the one on its way. */
  waiting(): number {
    return this.#waiting.size;
  }

  async run(stop: StopSignal): Promise<void> {
    while (!stop.aborted) {
      const next = this.#first();
      if (next === undefined) await this.#wake.wait(stop);
      else await this.#send(next, stop);
    }
  }

  async #send(message: OutboxMessage, stop: StopSignal): Promise<void> {
    const { clock, retryMs, onError, isHopeless, onDropped } = this.#options;
    const isLate = message.untilMs !== undefined && message.untilMs <= clock.nowMs();
    try {
      if (!isLate) await message.send();
    } catch (error) {
      onError(message.key, error);
      if (!isHopeless(error)) return clock.sleep(retryMs, stop);
      onDropped(1);
    }
    // A later message of the same key may have come while this one was on its way. Keep that one.
    if (this.#waiting.get(message.key) === message) this.#waiting.delete(message.key);
  }

  #first(): OutboxMessage | undefined {
    for (const message of this.#waiting.values()) return message;
    return undefined;
  }

  #dropOldest(): void {
    let dropped = 0;
    for (const key of this.#waiting.keys()) {
      if (this.#waiting.size <= this.#options.waitingMax) break;
      this.#waiting.delete(key);
      dropped += 1;
    }
    if (dropped > 0) this.#options.onDropped(dropped);
  }
}

/**
 * The four decisions for each of 1,000 nodes that are interrupted while the bus is away, in some
 * ten megabytes.
 */
const waitingMax = 4_000;
/**
 * Refusals that the same message meets each time: of its size, or of the service's rights to its
 * subject. Rights that are granted later count for later messages.
 */
const hopeless: ReadonlySet<BusErrorCode> = new Set(['too-large', 'denied']);
/** Long enough not to hammer a bus that comes back, short enough for people who watch decisions. */
const retryMs = 2_000;

/**
 * The outbox of a service for its bus. Failures are counted (`dovetail_bus_errors_total`) and
 * logged at debug level (`publish-waits`), because the connection itself reports a lost bus.
 * Dropped messages are counted (`dovetail_decisions_dropped_total`). One that the bus can never
 * take is dropped at once (`publish-refused`), so that it holds up no other.
 */
export const busOutbox = (deps: {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}): Outbox =>
  new Outbox({
    clock: deps.clock,
    waitingMax,
    retryMs,
    isHopeless: (error) => !(error instanceof BusError) || hopeless.has(error.code),
    onDropped: (count) => deps.metrics.count('dovetail_decisions_dropped_total', {}, count),
    onError: (key, error) => {
      deps.metrics.count('dovetail_bus_errors_total', { what: 'publish' });
      if (!(error instanceof BusError) || hopeless.has(error.code)) {
        deps.log.warn(
          'publish-refused',
          `${key} is dropped, because the bus can never take it: ${messageOf(error)}`,
          { key },
        );
        return;
      }
      deps.log.debug(
        'publish-waits',
        `${key} was not published: ${messageOf(error)}; trying again`,
        { key },
      );
    },
  });
