/**
 * How long the newest messages count. A clock that is set is noticed after twice this time. It is
 * the age at which plans are refused, so that a step holds up admission no longer than that.
 */
const windowMs = 60_000;

type Window = { readonly sinceMs: number; aheadMs: number };

/**
 * Tells when the bus stored a message, by the clock of this process. The clocks of two hosts may
 * differ by minutes, so an age is never the difference of a time here and a time that was written
 * elsewhere.
 *
 * A message that comes was stored before, so the bus's clock is ahead of this one by at least the
 * difference. The largest difference of late is of a message that had just been stored. Too few
 * messages make others look younger than they are, and never older.
 */
export class BusTime {
  readonly #nowMs: () => number;
  #current: Window | undefined;
  #before: Window | undefined;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** A message has come that the bus stored at this time of its own. */
  heard(timeMs: number): void {
    const nowMs = this.#nowMs();
    const aheadMs = timeMs - nowMs;
    const current = this.#current;
    const isOver = current === undefined || Math.abs(nowMs - current.sinceMs) >= windowMs;
    if (!isOver) {
      current.aheadMs = Math.max(current.aheadMs, aheadMs);
      return;
    }
    this.#before = current;
    this.#current = { sinceMs: nowMs, aheadMs };
  }

  /** The time here at which the bus stored a message, given its own; now if it has told no time. */
  here(timeMs: number): number {
    const nowMs = this.#nowMs();
    const known = [this.#current, this.#before].flatMap((window) => window?.aheadMs ?? []);
    return known.length === 0 ? nowMs : Math.min(nowMs, timeMs - Math.max(...known));
  }
}
