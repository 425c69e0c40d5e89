import { assert } from '@dovetail/core-invariant';
import type { Clock, StopSignal, Vitals } from '@dovetail/core-ports';

import { Schedule } from './schedule.js';
import { Turns } from './turns.js';
import { Wake } from './wake.js';

/** The time of the next look at a key. Undefined: only after a change. */
export type Again = { readonly afterMs: number } | undefined;

/** How many keys are looked at side by side, and how a failed look is repeated. */
export type WorkQueueOptions = {
  readonly clock: Clock;
  /** Looks at different keys side by side. Invariant: 1 <= concurrency. */
  readonly concurrency: number;
  /** Delay after a look that failed, in milliseconds. It doubles with each failure in a row. */
  readonly retryMs: number;
  readonly retryMaxMs: number;
  /** Watches over each look; absent: nothing does. */
  readonly watch?: { readonly vitals: Vitals; readonly name: string };
  /** Called after each look that failed. The queue tries again by itself. */
  readonly onError: (key: string, error: unknown, failures: number) => void;
};

/**
 * A look that lasts longer is hung. The slowest healthy ones wait for calls to AWS with all their
 * retries, which takes a few minutes.
 */
const lookMsMax = 600_000;
/** 2^20 times the first delay is over every maximum, and far from losing precision. */
const doublingsMax = 20;

/**
 * Keys that want a look. A look reads the state afresh, so a repeated key costs at most one look,
 * and a lost one only a delay.
 *
 * Invariants: at most one look at a key at a time; at most `concurrency` looks at a time. A key
 * that is added during its look is looked at again. A look that fails is repeated.
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #wake: Wake;
  /** Keys to look at when their time comes. */
  readonly #later = new Schedule();
  /** Keys to look at as soon as there is room, in the order in which they became due. */
  readonly #ready = new Set<string>();
  readonly #busy = new Set<string>();
  /** Failures in a row by key. */
  readonly #failures = new Map<string, number>();

  constructor(options: WorkQueueOptions) {
    assert(options.concurrency >= 1, 'a queue looks at one key at a time at least');
    this.#options = options;
    this.#wake = new Wake(options.clock);
  }

  /** Looks at the key as soon as possible. */
  add(key: string): void {
    this.#ready.add(key);
    this.#wake.raise();
  }

  /** Looks at the key after a delay in milliseconds, or earlier if it is due earlier. */
  addAfter(key: string, delayMs: number): void {
    if (this.#ready.has(key)) return;
    this.#later.add(key, this.#options.clock.nowMs() + delayMs);
    this.#wake.raise();
  }

  /** Keys that are ready or being looked at. Keys that wait for their time do not count. */
  size(): number {
    return new Set([...this.#ready, ...this.#busy]).size;
  }

  /**
   * Looks at keys until stopped; resolves when the last look has ended. Other work of the process
   * gets its turn while many keys are ready.
   */
  async run(look: (key: string) => Promise<Again>, stop: StopSignal): Promise<void> {
    const running = new Set<Promise<void>>();
    let turns = new Turns(this.#options.clock);
    while (!stop.aborted) {
      for (const key of this.#take()) {
        const work = this.#lookOnce(key, look).finally(() => {
          running.delete(work);
          this.#wake.raise();
        });
        running.add(work);
      }
      // Looks that wait for nothing follow each other at once: thousands would be one long turn.
      if (this.#ready.size > 0) await turns.give(stop);
      else turns = new Turns(this.#options.clock);
      await this.#wake.wait(stop, this.#untilNextMs());
    }
    this.#later.clear();
    this.#ready.clear();
    await Promise.all(running);
  }

  #take(): readonly string[] {
    for (const key of this.#later.takeDue(this.#options.clock.nowMs())) this.#ready.add(key);
    const taken: string[] = [];
    for (const key of this.#ready) {
      if (this.#busy.size >= this.#options.concurrency) break;
      if (this.#busy.has(key)) continue;
      this.#ready.delete(key);
      this.#busy.add(key);
      taken.push(key);
    }
    return taken;
  }

  #untilNextMs(): number {
    const nextMs = this.#later.nextMs();
    return nextMs === undefined ? Infinity : Math.max(1, nextMs - this.#options.clock.nowMs());
  }

  async #lookOnce(key: string, look: (key: string) => Promise<Again>): Promise<void> {
    try {
      const again = await this.#watched(() => look(key));
      this.#failures.delete(key);
      if (again !== undefined) this.addAfter(key, again.afterMs);
    } catch (error) {
      const failures = (this.#failures.get(key) ?? 0) + 1;
      this.#failures.set(key, failures);
      this.#options.onError(key, error, failures);
      this.addAfter(key, this.#retryAfterMs(failures));
    } finally {
      this.#busy.delete(key);
    }
  }

  #watched(look: () => Promise<Again>): Promise<Again> {
    const { watch } = this.#options;
    return watch === undefined ? look() : watch.vitals.turn(watch.name, lookMsMax, look);
  }

  #retryAfterMs(failures: number): number {
    const { retryMs, retryMaxMs } = this.#options;
    return Math.min(retryMaxMs, retryMs * 2 ** Math.min(failures - 1, doublingsMax));
  }
}
