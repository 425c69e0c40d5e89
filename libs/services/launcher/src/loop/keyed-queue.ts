import type { Clock, StopSignal } from '@dovetail/core-ports';
import { Latch } from './latch.js';

/** What one pass over a key asks for: nothing more until something changes, or another look after some time. */
export type Again = { readonly afterMs: number } | undefined;

/**
 * Keys that want a look, each at most once in the queue and never two looks at one key side by side. A key that is added
 * while it is looked at is looked at again. A look that fails is repeated with a growing delay: level-triggered work loses nothing.
 */
export class KeyedQueue {
  readonly #clock: Clock;
  readonly #ready = new Set<string>();
  readonly #busy = new Set<string>();
  readonly #due = new Map<string, number>();
  readonly #failures = new Map<string, number>();
  readonly #latch = new Latch();

  constructor(clock: Clock) { this.#clock = clock; }

  add(key: string): void {
    this.#ready.add(key);
    this.#latch.raise();
  }

  /** Looks again at the key after a delay, sooner if an earlier look is already due. */
  addAfter(key: string, delayMs: number, stop: StopSignal): void {
    const atMs = this.#clock.nowMs() + delayMs;
    const due = this.#due.get(key);
    if (due !== undefined && due <= atMs && due > this.#clock.nowMs()) return;
    this.#due.set(key, atMs);
    void this.#clock.sleep(delayMs, stop).then(() => {
      if (this.#due.get(key) !== atMs) return;
      this.#due.delete(key);
      if (!stop.aborted) this.add(key);
    });
  }

  size(): number { return this.#ready.size + this.#busy.size; }

  /** Looks at keys, `concurrency` side by side, until `stop`; resolves when the last look has ended. */
  async run(options: { readonly concurrency: number; readonly retryMs: number; readonly retryMaxMs: number }, look: (key: string) => Promise<Again>,
    onError: (key: string, error: unknown, failures: number) => void, stop: StopSignal): Promise<void> {
    while (!stop.aborted) {
      for (const key of [...this.#ready]) {
        if (this.#busy.size >= options.concurrency) break;
        if (this.#busy.has(key)) continue;
        this.#ready.delete(key);
        this.#busy.add(key);
        void this.#lookOnce(key, options, look, onError, stop);
      }
      await this.#latch.wait(stop);
    }
    while (this.#busy.size > 0) await new Promise<void>((resolve) => { this.#drained = resolve; });
  }

  #drained: (() => void) | undefined;

  async #lookOnce(key: string, options: { readonly retryMs: number; readonly retryMaxMs: number }, look: (key: string) => Promise<Again>,
    onError: (key: string, error: unknown, failures: number) => void, stop: StopSignal): Promise<void> {
    try {
      const again = await look(key);
      this.#failures.delete(key);
      if (again !== undefined) this.addAfter(key, again.afterMs, stop);
    } catch (error) {
      const failures = (this.#failures.get(key) ?? 0) + 1;
      this.#failures.set(key, failures);
      onError(key, error, failures);
      this.addAfter(key, Math.min(options.retryMaxMs, options.retryMs * 2 ** (failures - 1)), stop);
    } finally {
      this.#busy.delete(key);
      this.#latch.raise();
      this.#drained?.();
    }
  }
}
