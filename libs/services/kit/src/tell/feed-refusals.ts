import type { BusError, Clock, Log, Metrics } from '@dovetail/core-ports';

/** The clock, the log and the metrics of a feed. */
export type FeedRefusalsDeps = {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
};

type Refusal = { readonly sinceMs: number; readonly times: number };

/** The first pause of a refused record, in milliseconds. It doubles with each refusal. */
const restMs = 100;
/**
 * The longest pause. Thousands of records that a full stream refuses are then a thousand calls a
 * second, and each is back five seconds after there is room.
 */
const restMsMax = 5_000;
/** A refusal of this length is reported: far longer than a new leader of the stream takes. */
const toldAfterMs = 10_000;
/** A minute between reports, however many records are refused. */
const tellEveryMs = 60_000;

/**
 * The records of a feed that the bus answers and does not take, because their stream is full or
 * because they are not allowed. Each rests by itself and holds up no other.
 */
export class FeedRefusals {
  readonly #deps: FeedRefusalsDeps;
  readonly #refused = new Map<string, Refusal>();
  #toldMs = -Infinity;

  constructor(deps: FeedRefusalsDeps) {
    this.#deps = deps;
  }

  /** Counts and reports a refusal. Returns how long the record rests, in milliseconds. */
  refused(subject: string, error: BusError): number {
    const { clock, metrics } = this.#deps;
    const nowMs = clock.nowMs();
    const { sinceMs, times } = this.#refused.get(subject) ?? { sinceMs: nowMs, times: 0 };
    this.#refused.set(subject, { sinceMs, times: times + 1 });
    metrics.count('dovetail_bus_errors_total', { what: 'state' });
    if (nowMs - sinceMs >= toldAfterMs) this.#tell(subject, error, nowMs);
    return Math.min(restMsMax, restMs * 2 ** Math.min(times, 10));
  }

  /** The bus has taken the record, or it is not wanted any more. */
  ended(subject: string): void {
    this.#refused.delete(subject);
  }

  #tell(subject: string, error: BusError, nowMs: number): void {
    if (nowMs - this.#toldMs < tellEveryMs) return;
    this.#toldMs = nowMs;
    const refused = this.#refused.size;
    this.#deps.log.warn(
      'state-refused',
      `the bus does not take ${refused} ${refused === 1 ? 'object' : 'objects'} of the state feed: ${error.message}; solvers do not know of them, and publishing is tried again`,
      { refused, code: error.code, subject },
    );
  }
}
