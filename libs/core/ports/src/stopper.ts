import type { StopSignal } from './clock.js';

/** A StopSignal that pure code can raise. It is also raised when any of its parents is. */
export class Stopper implements StopSignal {
  #aborted = false;
  readonly #listeners = new Set<() => void>();
  readonly #parents: readonly StopSignal[];
  readonly #onParent = (): void => this.abort();

  constructor(...parents: readonly StopSignal[]) {
    this.#parents = parents;
    for (const parent of parents) {
      if (parent.aborted) this.#aborted = true;
      else parent.addEventListener('abort', this.#onParent, { once: true });
    }
    if (this.#aborted) this.#leaveParents();
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  /** Raises the signal once. Listeners run at once, in the order in which they were added. */
  abort(): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#leaveParents();
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) listener();
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    if (this.#aborted) listener();
    else this.#listeners.add(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.delete(listener);
  }

  /** A raised signal listens no longer, so that long-lived parents keep no dead children. */
  #leaveParents(): void {
    for (const parent of this.#parents) parent.removeEventListener('abort', this.#onParent);
  }
}

/** A signal that is never raised, for calls that nothing interrupts. */
export const neverStopping: StopSignal = {
  aborted: false,
  addEventListener: () => undefined,
  removeEventListener: () => undefined,
};
