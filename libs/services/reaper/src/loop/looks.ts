import type { Clock, StopSignal } from '@dovetail/core-ports';
import { Nap } from './nap.js';

/** When to look at a key again; undefined: when something about it changes. */
export type Again = { readonly afterMs: number } | undefined;

export type LooksOptions = {
  readonly clock: Clock;
  readonly concurrency: number;
  /** Delay after a look that failed; doubles with each failure in a row. */
  readonly retryMs: number;
  readonly retryMaxMs: number;
  readonly onError: (key: string, error: unknown, failures: number) => void;
};

const idleMs = 3_600_000;

/**
 * Keys that want a look: each at most once at a time, again when it changed meanwhile, again later when it asks for it. Looks
 * read the world afresh, so that a lost event costs a delay and a repeated one nothing.
 */
export class Looks {
  readonly #options: LooksOptions;
  readonly #nap: Nap;
  readonly #due = new Map<string, number>();
  readonly #busy = new Set<string>();
  readonly #failures = new Map<string, number>();

  constructor(options: LooksOptions) {
    this.#options = options;
    this.#nap = new Nap(options.clock);
  }

  /** Look at the key as soon as possible. */
  add(key: string): void { this.#plan(key, this.#options.clock.nowMs()); }

  /** Keys that wait or are being looked at. */
  size(): number { return new Set([...this.#due.keys(), ...this.#busy]).size; }

  #plan(key: string, atMs: number): void {
    this.#due.set(key, Math.min(atMs, this.#due.get(key) ?? Infinity));
    this.#nap.wake();
  }

  /** Runs until stopped; resolves when the last look has ended. */
  async run(look: (key: string) => Promise<Again>, stop: StopSignal): Promise<void> {
    const running = new Set<Promise<void>>();
    while (!stop.aborted) {
      for (const key of this.#takeDue()) {
        const work = this.#lookOnce(key, look).finally(() => { running.delete(work); this.#nap.wake(); });
        running.add(work);
      }
      await this.#nap.rest(this.#untilNextMs(), stop);
    }
    this.#due.clear();
    await Promise.all(running);
  }

  #takeDue(): readonly string[] {
    const nowMs = this.#options.clock.nowMs();
    const due = [...this.#due].filter(([key, atMs]) => atMs <= nowMs && !this.#busy.has(key)).sort(([, a], [, b]) => a - b);
    const taken = due.slice(0, Math.max(0, this.#options.concurrency - this.#busy.size)).map(([key]) => key);
    for (const key of taken) {
      this.#due.delete(key);
      this.#busy.add(key);
    }
    return taken;
  }

  #untilNextMs(): number {
    if (this.#busy.size >= this.#options.concurrency) return idleMs;
    const next = Math.min(...[...this.#due].filter(([key]) => !this.#busy.has(key)).map(([, atMs]) => atMs));
    return Math.min(idleMs, Math.max(1, next - this.#options.clock.nowMs()));
  }

  async #lookOnce(key: string, look: (key: string) => Promise<Again>): Promise<void> {
    const { clock, retryMs, retryMaxMs, onError } = this.#options;
    try {
      const again = await look(key);
      this.#failures.delete(key);
      if (again !== undefined) this.#plan(key, clock.nowMs() + again.afterMs);
    } catch (error) {
      const failures = (this.#failures.get(key) ?? 0) + 1;
      this.#failures.set(key, failures);
      onError(key, error, failures);
      this.#plan(key, clock.nowMs() + Math.min(retryMaxMs, retryMs * 2 ** Math.min(failures - 1, 20)));
    } finally {
      this.#busy.delete(key);
    }
  }
}
