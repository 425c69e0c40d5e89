import { assert } from '@dovetail/core-invariant';
import type { Clock, StopSignal } from '@dovetail/core-ports';

/**
 * A throttling answer halves the rate, a success restores a fifth: fast to yield, slow to return.
 */
const slowDown = 2;
const speedUp = 1.2;
/** The rate never falls below this part of the full one, so that a lasting throttle is noticed. */
const leastShare = 16;

/** The pace of a bucket. */
export type TokenBucketOptions = {
  /** Invariant: 0 < ratePerSecond. */
  readonly ratePerSecond: number;
  /** Tokens that a full bucket holds. Invariant: 1 <= burst. */
  readonly burst: number;
};

/**
 * One bucket of tokens for all calls of a kind. EC2 throttles the account and not the caller, so
 * pacing each claim on its own would only move the queue to AWS.
 *
 * Invariant: tokens <= burst, and ratePerSecond / 16 <= rate <= ratePerSecond.
 */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #options: TokenBucketOptions;
  #rate: number;
  /** Negative while callers wait: each has taken its token in advance. */
  #tokens: number;
  #refilledMs: number;

  constructor(clock: Clock, options: TokenBucketOptions) {
    assert(options.ratePerSecond > 0, 'a bucket is refilled');
    assert(options.burst >= 1, 'a bucket holds at least one token');
    this.#clock = clock;
    this.#options = options;
    this.#rate = options.ratePerSecond;
    this.#tokens = options.burst;
    this.#refilledMs = clock.nowMs();
  }

  /** Waits for a token. Returns false if stopped meanwhile. */
  async take(stop: StopSignal): Promise<boolean> {
    this.#refill();
    this.#tokens -= 1;
    if (this.#tokens < 0)
      await this.#clock.sleep(Math.ceil((-this.#tokens / this.#rate) * 1_000), stop);
    return !stop.aborted;
  }

  /** Takes a token if there is one. */
  tryTake(): boolean {
    this.#refill();
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Call this after a throttling answer: it empties the bucket and slows down. */
  throttled(): void {
    this.#refill();
    this.#tokens = Math.min(this.#tokens, 0);
    this.#rate = Math.max(this.#rate / slowDown, this.#options.ratePerSecond / leastShare);
  }

  /** Call this after a success: it speeds up again, towards the full rate. */
  succeeded(): void {
    this.#rate = Math.min(this.#options.ratePerSecond, this.#rate * speedUp);
  }

  #refill(): void {
    const nowMs = this.#clock.nowMs();
    const gained = ((nowMs - this.#refilledMs) / 1_000) * this.#rate;
    this.#tokens = Math.min(this.#options.burst, this.#tokens + gained);
    this.#refilledMs = nowMs;
  }
}
