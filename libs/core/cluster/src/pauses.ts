import type { Clock } from '@dovetail/core-ports';

/** How long a key pauses. It doubles with each pause in a row. */
type PauseTimes = { readonly firstMs: number; readonly maxMs: number };

/** Work that was in vain. */
export type VainWork = {
  /** When it began. Absent: now, it took no time. */
  readonly sinceMs?: number;
  /** Whether it cost something for as long as it took: then the pause is as long at least. */
  readonly isCostly?: boolean;
};

/** A pause of a key: its end, in milliseconds since 1970, and its length. */
export type Pause = { readonly untilMs: number; readonly lengthMs: number };

/** Work takes less than this, in milliseconds: the longest waits for a replacement. */
const workMsMax = 3_600_000;
/** The longest pause after costly work, in times that the work took. */
const costlyTimesMax = 16;

/**
 * Keys that pause after something was begun in vain. A key that was quiet for the longest pause
 * after its own begins anew. The time of the vain work itself is not quiet.
 */
export class Pauses {
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #times: PauseTimes;
  readonly #pauses = new Map<string, Pause>();

  constructor(clock: Pick<Clock, 'nowMs'>, times: PauseTimes) {
    this.#clock = clock;
    this.#times = times;
  }

  /** Whether the key pauses now. */
  pauses(key: string): boolean {
    return this.untilMs(key) !== undefined;
  }

  /** Until when the key pauses, in milliseconds since 1970; undefined: it does not pause now. */
  untilMs(key: string): number | undefined {
    const untilMs = this.#pauses.get(key)?.untilMs;
    return untilMs !== undefined && untilMs > this.#clock.nowMs() ? untilMs : undefined;
  }

  /** Whether a pause of the key is remembered, under way or over. */
  knows(key: string): boolean {
    return this.#pauses.has(key);
  }

  /** Goes on with a pause that another process has begun. */
  resume(key: string, pause: Pause): void {
    this.#pauses.set(key, pause);
  }

  /**
   * Work on the key was in vain: it pauses, longer than the last time. Work that began before the
   * pause that is under way did is the same work, and that pause stands.
   */
  begin(key: string, { sinceMs = this.#clock.nowMs(), isCostly = false }: VainWork = {}): Pause {
    const nowMs = this.#clock.nowMs();
    // Work that another process began may be hours old, and its time that of another clock.
    const tookMs = isCostly ? Math.min(workMsMax, Math.max(0, nowMs - sinceMs)) : 0;
    const firstMs = Math.max(this.#times.firstMs, tookMs);
    const maxMs = Math.max(this.#times.maxMs, costlyTimesMax * tookMs);
    this.#forgetQuiet();
    const last = this.#pauses.get(key);
    if (last !== undefined && nowMs < last.untilMs && sinceMs < last.untilMs - last.lengthMs)
      return last;
    const isInRow = last !== undefined && sinceMs - last.untilMs <= this.#times.maxMs;
    const lengthMs = isInRow ? Math.min(maxMs, Math.max(firstMs, last.lengthMs * 2)) : firstMs;
    const pause = { lengthMs, untilMs: nowMs + lengthMs };
    this.#pauses.set(key, pause);
    return pause;
  }

  #forgetQuiet(): void {
    const nowMs = this.#clock.nowMs();
    for (const [key, { untilMs }] of this.#pauses)
      if (nowMs - untilMs > this.#times.maxMs + workMsMax) this.#pauses.delete(key);
  }
}
