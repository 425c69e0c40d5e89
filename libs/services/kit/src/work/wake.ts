import { type Clock, Stopper, type StopSignal } from '@dovetail/core-ports';

/**
 * Wakes waiting loops when something has changed. A change while no loop waits is remembered, and
 * the next wait returns at once. Many changes in a row wake once.
 */
export class Wake {
  readonly #clock: Clock;
  readonly #pauses = new Set<Stopper>();
  #raised = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Call this after a change. */
  raise(): void {
    this.#raised = true;
    for (const pause of this.#pauses) pause.abort();
  }

  /** Forgets the changes so far. Call this before looking at the state that they led to. */
  clear(): void {
    this.#raised = false;
  }

  /**
   * Resolves at once if raised since the last wait or `clear`. Otherwise it resolves when raised,
   * when stopped, or after `atMostMs` milliseconds (absent: no limit).
   */
  async wait(stop: StopSignal, atMostMs = Infinity): Promise<void> {
    if (!this.#raised && !stop.aborted && atMostMs > 0) await this.#pause(stop, atMostMs);
    this.#raised = false;
  }

  async #pause(stop: StopSignal, atMostMs: number): Promise<void> {
    const pause = new Stopper(stop);
    this.#pauses.add(pause);
    if (atMostMs === Infinity)
      await new Promise<void>((resolve) => pause.addEventListener('abort', resolve));
    else await this.#clock.sleep(atMostMs, pause);
    this.#pauses.delete(pause);
    // Detaches the pause from `stop`, which outlives it.
    pause.abort();
  }
}
