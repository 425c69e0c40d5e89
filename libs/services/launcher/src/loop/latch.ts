import type { StopSignal } from '@dovetail/core-ports';

/** Wakes one waiter when something has changed; changes while nobody waits are remembered as one. */
export class Latch {
  #raised = false;
  #wake: (() => void) | undefined;

  raise(): void {
    this.#raised = true;
    this.#wake?.();
  }

  /** Resolves at once when raised since the last wait, else when raised or stopped. */
  async wait(stop: StopSignal): Promise<void> {
    if (!this.#raised && !stop.aborted) {
      await new Promise<void>((resolve) => {
        const done = (): void => { stop.removeEventListener('abort', done); this.#wake = undefined; resolve(); };
        this.#wake = done;
        stop.addEventListener('abort', done, { once: true });
      });
    }
    this.#raised = false;
  }
}
