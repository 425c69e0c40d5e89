import type { Clock } from '@dovetail/core-ports';

/** How long a key pauses. It doubles with each pause in a row. */
type PauseTimes = { readonly firstMs: number; readonly maxMs: number };

type Pause = { readonly untilMs: number; readonly lengthMs: number };

/**
 * Keys that pause after something was begun in vain. A key that was quiet for the longest pause
 * after its own begins anew.
 */
export class Pauses {
  readonly #clock: Clock;
  readonly #times: PauseTimes;
  readonly #pauses = new Map<string, Pause>();

  constructor(clock: Clock, times: PauseTimes) {
    this.#clock = clock;
    this.#times = times;
  }

  /** Whether the key pauses now. */
  pauses(key: string): boolean {
    return (this.#pauses.get(key)?.untilMs ?? 0) > this.#clock.nowMs();
  }

  /** Work on the key was in vain: it pauses, longer than the last time. */
  begin(key: string): void {
    const { firstMs, maxMs } = this.#times;
    this.#forgetQuiet();
    const lastMs = this.#pauses.get(key)?.lengthMs;
    const lengthMs = lastMs === undefined ? firstMs : Math.min(maxMs, lastMs * 2);
    this.#pauses.set(key, { lengthMs, untilMs: this.#clock.nowMs() + lengthMs });
  }

  #forgetQuiet(): void {
    const nowMs = this.#clock.nowMs();
    for (const [key, { untilMs }] of this.#pauses)
      if (nowMs - untilMs > this.#times.maxMs) this.#pauses.delete(key);
  }
}
