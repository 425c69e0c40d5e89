/**
 * Tells how old messages are, by the bus's clock alone: the clocks of two hosts may differ by
 * minutes, and the one here may be set. The age of a message is the time that the bus has stored
 * others after it. Few messages make others look younger than they are, and never older.
 */
export class BusTime {
  readonly #nowMs: () => number;
  #newestMs = -Infinity;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /**
   * The bus has stored a record at this time of its own. Records come in the order in which they
   * were stored, so this is the bus's time now, also if its clock was set back.
   */
  stored(timeMs: number): void {
    this.#newestMs = timeMs;
  }

  /** A message has come that the bus stored at this time, perhaps long ago. */
  heard(timeMs: number): void {
    this.#newestMs = Math.max(this.#newestMs, timeMs);
  }

  /** The time here at which the bus stored a message, given its own. */
  here(timeMs: number): number {
    return this.#nowMs() - Math.max(0, this.#newestMs - timeMs);
  }
}
