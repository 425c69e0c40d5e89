import type { Clock, StopSignal } from '@dovetail/core-ports';

/**
 * How long a loop may work without a pause, in milliseconds. A quarter of the longest wait that
 * renewals, probes and other loops are to see. A pause lets in all events that have come, so more
 * of them would delay what the loop is for.
 */
const turnMs = 50;

/**
 * As `turnMs`, for loops that nobody waits for and of which several run side by side: together they
 * stay below the longest wait.
 */
export const backgroundTurnMs = 25;

/** Gives other work of the process its turn while a long loop runs. */
export class Turns {
  readonly #clock: Clock;
  readonly #lengthMs: number;
  #sinceMs: number;

  constructor(clock: Clock, lengthMs: number = turnMs) {
    this.#clock = clock;
    this.#lengthMs = lengthMs;
    this.#sinceMs = clock.nowMs();
  }

  /** Pauses when the loop has worked for its time since the last pause. */
  async give(stop: StopSignal): Promise<void> {
    if (this.#clock.nowMs() - this.#sinceMs < this.#lengthMs) return;
    await this.#clock.sleep(1, stop);
    this.#sinceMs = this.#clock.nowMs();
  }
}
