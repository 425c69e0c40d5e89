import type { Clock, StopSignal } from '@dovetail/core-ports';

/** How fast calls of one kind may go: at most `burst` at once, `ratePerSecond` in the long run. */
export type Pace = { readonly ratePerSecond: number; readonly burst: number };

/**
 * A token bucket that adapts. EC2 meters the account, and other tools of the account call too. A
 * throttled answer halves the rate, down to a tenth. A success adds a fiftieth of the full rate
 * back. Recovery then takes some dozen calls and does not run into the next throttling at once.
 * Invariant: ratePerSecond / 10 <= rate <= ratePerSecond, and tokens <= burst.
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

  /** The current rate, in calls a second. */
  ratePerSecond(): number {
    return this.#rate;
  }

  /**
   * Resolves when the next call may go. Callers go in order of arrival: each takes a token at once
   * and waits for it.
   */
  async take(stop: StopSignal): Promise<void> {
    this.#refill();
    this.#tokens -= 1;
    if (this.#tokens < 0)
      await this.#clock.sleep(Math.ceil((-this.#tokens / this.#rate) * 1000), stop);
  }

  /** Reports that AWS answered. */
  succeeded(): void {
    this.#refill();
    this.#rate = Math.min(this.#pace.ratePerSecond, this.#rate + this.#pace.ratePerSecond / 50);
  }

  /** Reports that AWS throttled the call. */
  throttled(): void {
    this.#refill();
    this.#rate = Math.max(this.#pace.ratePerSecond / 10, this.#rate / 2);
    // EC2 has just reported that its bucket is empty, so ours is too.
    this.#tokens = Math.min(this.#tokens, 0);
  }

  #refill(): void {
    const nowMs = this.#clock.nowMs();
    const gained = (Math.max(0, nowMs - this.#atMs) * this.#rate) / 1000;
    this.#tokens = Math.min(this.#pace.burst, this.#tokens + gained);
    this.#atMs = nowMs;
  }
}
