import type { Clock, StopSignal } from '@dovetail/core-ports';

/**
 * One bucket of tokens for all calls of a kind: EC2 throttles the account, not the caller, so pacing each claim by itself would
 * only move the queue to AWS. A throttling answer empties the bucket and halves the rate; each success gives some of it back.
 */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #ratePerSecond: number;
  readonly #burst: number;
  #rate: number;
  #tokens: number;
  #refilledMs: number;

  constructor(clock: Clock, options: { readonly ratePerSecond: number; readonly burst: number }) {
    this.#clock = clock;
    this.#ratePerSecond = options.ratePerSecond;
    this.#burst = options.burst;
    this.#rate = options.ratePerSecond;
    this.#tokens = options.burst;
    this.#refilledMs = clock.nowMs();
  }

  /** Waits for a token; false when stopped before there was one. */
  async take(stop: StopSignal): Promise<boolean> {
    this.#refill();
    this.#tokens -= 1;
    if (this.#tokens < 0) await this.#clock.sleep(Math.ceil((-this.#tokens / this.#rate) * 1000), stop);
    return !stop.aborted;
  }

  /** Takes a token if there is one. */
  tryTake(): boolean {
    this.#refill();
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  throttled(): void {
    this.#refill();
    this.#tokens = Math.min(this.#tokens, 0);
    this.#rate = Math.max(this.#rate / 2, this.#ratePerSecond / 16);
  }

  succeeded(): void {
    this.#rate = Math.min(this.#ratePerSecond, this.#rate * 1.2);
  }

  #refill(): void {
    const nowMs = this.#clock.nowMs();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((nowMs - this.#refilledMs) / 1000) * this.#rate);
    this.#refilledMs = nowMs;
  }
}
