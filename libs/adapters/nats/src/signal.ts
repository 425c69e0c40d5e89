import type { StopSignal } from '@dovetail/core-ports';

/** Resolves after the time, or at once when `stop` is aborted. */
export function pause(durationMs: number, stop: StopSignal): Promise<void> {
  if (stop.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      stop.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, durationMs);
    stop.addEventListener('abort', end, { once: true });
  });
}

/**
 * An unbounded queue with one reader. Its writer keeps it bounded, by flow control or by one pull
 * at a time.
 */
export class Inbox<T> {
  readonly #items: T[] = [];
  #head = 0;
  #wake: (() => void) | undefined;

  push(item: T): void {
    this.#items.push(item);
    this.#wake?.();
  }

  /** The next item; undefined when the time is over or `stop` is aborted. */
  async next(waitMs: number, stop: StopSignal): Promise<T | undefined> {
    if (this.#head === this.#items.length) await this.#woken(waitMs, stop);
    if (this.#head === this.#items.length) return undefined;
    const item = this.#items[this.#head] as T;
    this.#head += 1;
    if (this.#head === this.#items.length || this.#head > 1024) {
      this.#items.splice(0, this.#head);
      this.#head = 0;
    }
    return item;
  }

  #woken(waitMs: number, stop: StopSignal): Promise<void> {
    if (stop.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#wake = undefined;
        stop.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, waitMs);
      this.#wake = end;
      stop.addEventListener('abort', end, { once: true });
    });
  }
}
