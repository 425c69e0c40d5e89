import type { Clock, StopSignal } from '@dovetail/core-ports';
import { Stopper } from '@dovetail/core-ports';

/** A pause that can be cut short: what happens while nobody pauses is remembered as one wake-up. */
export class Nap {
  readonly #clock: Clock;
  #woken = false;
  #pause: Stopper | undefined;

  constructor(clock: Clock) { this.#clock = clock; }

  wake(): void {
    this.#woken = true;
    this.#pause?.abort();
  }

  /** Returns after the duration, when woken, or when stopped; at once when woken since the last pause. */
  async rest(durationMs: number, stop: StopSignal): Promise<void> {
    if (!this.#woken && !stop.aborted && durationMs > 0) {
      this.#pause = new Stopper(stop);
      await this.#clock.sleep(durationMs, this.#pause);
      this.#pause.abort();
      this.#pause = undefined;
    }
    this.#woken = false;
  }
}
