import type { StopSignal } from '@dovetail/core-ports';

/** A StopSignal that pure code can raise itself, also raised when any of its parents is. */
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
  }

  get aborted(): boolean { return this.#aborted; }

  /** Raises the signal once; listeners run at once, in the order in which they came. */
  abort(): void {
    if (this.#aborted) return;
    this.#aborted = true;
    for (const parent of this.#parents) parent.removeEventListener('abort', this.#onParent);
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
}
