import type { ServerClock } from '@dovetail/core-ports';

/** The clocks of a process; parameters, so that a test can step them. */
export type OwnClocks = {
  /** The time of day, in milliseconds since 1970. */
  readonly wallMs: () => number;
  /** Milliseconds since any moment. Nothing sets this clock. */
  readonly monotonicMs: () => number;
};

/** An answer's Date and when the request went and the answer came, by the monotonic clock. */
type Answer = { readonly dateMs: number; readonly sentMs: number; readonly receivedMs: number };

/** A Date names whole seconds and leaves the rest out (RFC 9110, 5.6.7). */
const resolutionMs = 1_000;

/**
 * Compares this process' clock with the Date of the API server's last answer. The monotonic clock
 * counts on from there, so a step of our clock shows at once and not only at the next answer.
 */
export class AnswerDates implements ServerClock {
  readonly #own: OwnClocks;
  #last: Answer | undefined;

  constructor(own: OwnClocks = { wallMs: Date.now, monotonicMs: () => performance.now() }) {
    this.#own = own;
  }

  /** Begins a request. Call what it returns with the Date header of the answer. */
  begin(): (date: string | readonly string[] | undefined) => void {
    const { monotonicMs } = this.#own;
    const sentMs = monotonicMs();
    return (date) => {
      const dateMs = typeof date === 'string' ? Date.parse(date) : Number.NaN;
      if (!Number.isNaN(dateMs)) this.#last = { dateMs, sentMs, receivedMs: monotonicMs() };
    };
  }

  aheadMs(): number | undefined {
    if (this.#last === undefined) return undefined;
    const { dateMs, sentMs, receivedMs } = this.#last;
    const { wallMs, monotonicMs } = this.#own;
    // The server wrote its Date at some moment between the two.
    const [nowMs, wall] = [monotonicMs(), wallMs()];
    const most = wall - (dateMs + (nowMs - receivedMs));
    const least = wall - (dateMs + resolutionMs + (nowMs - sentMs));
    return least > 0 ? least : Math.min(0, most);
  }
}
