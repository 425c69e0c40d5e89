/** Arrivals that are compared: enough for a quiet minute, few enough to follow a clock's step. */
const arrivalsMax = 32;

/**
 * Tells when a message was stored, by this host's clock. The bus stamps messages with its own
 * clock, which may differ. Of the last arrivals, the one with the least distance between both
 * clocks was the fastest, so that distance is how far the clocks differ.
 */
export class BusTime {
  readonly #distancesMs: number[] = [];

  /**
   * The time at which a message was stored, in milliseconds of this host's clock; `busMs` is the
   * bus's. A message that is the first of all counts as stored now.
   */
  storedMs(busMs: number, nowMs: number): number {
    this.#distancesMs.push(nowMs - busMs);
    if (this.#distancesMs.length > arrivalsMax) this.#distancesMs.shift();
    return busMs + Math.min(...this.#distancesMs);
  }
}
