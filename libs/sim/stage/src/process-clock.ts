import type { Clock, StopSignal } from '@dovetail/core-ports';

/** A process that may be paused: `paused` resolves once it is not. */
type Pausable = { paused(): Promise<void> | undefined };

/** The clock of one process: it may be wrong, and a process that is paused sleeps on. */
export class ProcessClock implements Clock {
  readonly #clock: Clock;
  readonly #process: Pausable;
  #aheadMs = 0;

  constructor(clock: Clock, process: Pausable) {
    this.#clock = clock;
    this.#process = process;
  }

  nowMs(): number {
    return this.#clock.nowMs() + this.#aheadMs;
  }

  /** Steps by this time from now on, back if negative. Sleepers sleep as long as before. */
  jump(byMs: number): void {
    this.#aheadMs += byMs;
  }

  /** Shows the right time again. */
  set(): void {
    this.#aheadMs = 0;
  }

  async sleep(durationMs: number, stop: StopSignal): Promise<void> {
    await this.#clock.sleep(durationMs, stop);
    await this.#process.paused();
  }
}
