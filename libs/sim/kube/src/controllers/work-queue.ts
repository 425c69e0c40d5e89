import type { SimClock } from '../ambient/clock.js';

/** The work of a queue, and the handler of its failures. */
export type WorkQueueOptions = {
  readonly clock: SimClock;
  /** Reconciles one key. It is called again after it throws, later each time. */
  readonly work: (key: string) => void;
  readonly onError: (key: string, error: unknown) => void;
  /** Keys worked on in one turn, so that requests are answered in between. Default 50. */
  readonly perTurnMax?: number;
};

const retryFirstMs = 200;
const retryMaxMs = 16_000;

/** Keys to work on, each once however often it was added. The queue sleeps while there are none. */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #waiting = new Set<string>();
  readonly #failures = new Map<string, number>();
  readonly #waits = new Map<string, () => void>();
  #running = false;
  #stopped = false;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
  }

  add(key: string): void {
    if (this.#stopped) return;
    this.#waiting.add(key);
    if (this.#running) return;
    this.#running = true;
    this.#options.clock.soon(() => this.#turn());
  }

  addAfter(key: string, delayMs: number): void {
    this.#options.clock.after(delayMs, () => this.add(key));
  }

  /**
   * Adds the key after `delayMs`. Ends the wait that an earlier call began for it, so that a key
   * that is worked on often has one timer.
   */
  wakeAfter(key: string, delayMs: number): void {
    this.#waits.get(key)?.();
    const cancel = this.#options.clock.after(delayMs, () => {
      this.#waits.delete(key);
      this.add(key);
    });
    this.#waits.set(key, cancel);
  }

  /** Ends the wait that `wakeAfter` began for the key. */
  forget(key: string): void {
    this.#waits.get(key)?.();
    this.#waits.delete(key);
  }

  stop(): void {
    this.#stopped = true;
    for (const cancel of this.#waits.values()) cancel();
    this.#waits.clear();
    this.#waiting.clear();
  }

  #turn(): void {
    let left = this.#options.perTurnMax ?? 50;
    for (const key of this.#waiting) {
      if (left === 0) break;
      left -= 1;
      this.#waiting.delete(key);
      this.#one(key);
    }
    this.#running = this.#waiting.size > 0;
    if (this.#running) this.#options.clock.soon(() => this.#turn());
  }

  #one(key: string): void {
    try {
      this.#options.work(key);
      this.#failures.delete(key);
    } catch (thrown) {
      const failures = (this.#failures.get(key) ?? 0) + 1;
      this.#failures.set(key, failures);
      this.#options.onError(key, thrown);
      this.addAfter(key, Math.min(retryMaxMs, retryFirstMs * 2 ** (failures - 1)));
    }
  }
}
