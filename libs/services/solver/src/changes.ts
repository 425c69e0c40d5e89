import { type Clock, Stopper } from '@dovetail/core-ports';

/**
 * Tells those who wait of changes of the mirror, in the turn of the change. A plan under way may
 * take in changes, and whoever waits must not wait for its end.
 */
export class Changes {
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();
  #changed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Call this after a change. */
  raise(): void {
    this.#changed = true;
    for (const end of [...this.#waiting]) end();
  }

  /** Forgets the changes so far. Call this before a look at the mirror. */
  clear(): void {
    this.#changed = false;
  }

  /** Calls `done` once: now if there was a change, at the next one, or after `waitMs`. */
  wait(waitMs: number, done: () => void): void {
    const over = new Stopper();
    const end = (): void => {
      if (!this.#waiting.delete(end)) return;
      over.abort();
      this.#changed = false;
      done();
    };
    this.#waiting.add(end);
    if (this.#changed || waitMs <= 0) end();
    else void this.#clock.sleep(waitMs, over).then(end);
  }
}
