import type { Clock, StopSignal } from '@dovetail/core-ports';

/** How fast calls of one kind may go: at most `burst` at once, `ratePerSecond` in the long run. */
export type Pace = { readonly ratePerSecond: number; readonly burst: number };

/**
 * A token bucket that learns. EC2 meters each account, not each caller, and other tools call too: after each throttled
 * answer the rate halves (down to a tenth), after each success it grows back by a fiftieth of the full rate.
 */
export class Pacer {
  readonly #clock: Clock;
  readonly #pace: Pace;
  #rate: number;
  #tokens: number;
  #atMs: number;

  constructor(clock: Clock, pace: Pace) {
    this.#clock = clock;
    this.#pace = pace;
    this.#rate = pace.ratePerSecond;
    this.#tokens = pace.burst;
    this.#atMs = clock.nowMs();
  }

  /** Calls a second that are let through now. */
  ratePerSecond(): number { return this.#rate; }

  /** Resolves when the next call may go. Callers are served in the order in which they came: each takes its token at once and waits for it. */
  async take(stop: StopSignal): Promise<void> {
    this.#refill();
    this.#tokens -= 1;
    if (this.#tokens < 0) await this.#clock.sleep(Math.ceil((-this.#tokens / this.#rate) * 1000), stop);
  }

  succeeded(): void {
    this.#refill();
    this.#rate = Math.min(this.#pace.ratePerSecond, this.#rate + this.#pace.ratePerSecond / 50);
  }

  throttled(): void {
    this.#refill();
    this.#rate = Math.max(this.#pace.ratePerSecond / 10, this.#rate / 2);
    // What the bucket held was EC2's to give, and it has just said that there is nothing.
    this.#tokens = Math.min(this.#tokens, 0);
  }

  #refill(): void {
    const nowMs = this.#clock.nowMs();
    const gained = (Math.max(0, nowMs - this.#atMs) * this.#rate) / 1000;
    this.#tokens = Math.min(this.#pace.burst, this.#tokens + gained);
    this.#atMs = nowMs;
  }
}
