/** Times between attempts. */
const firstWaitMs = 1_000;
const waitMsMax = 60_000;

/** A receiver that asks for a longer rest is believed up to this: an hour is Slack's longest. */
const askedWaitMsMax = 3_600_000;

/** A receiver that has failed so often in a row is down, and not only restarted. */
const failuresOfOutage = 5;

/**
 * How long a sink waits after a failure, and when it gives a decision up. Waits double from a
 * second to a minute. Failures are counted over decisions: an outage is the receiver's, not the
 * decision's.
 */
export class Patience {
  #failures = 0;

  /** The failures since the receiver last took or refused a decision. */
  get failures(): number {
    return this.#failures;
  }

  failed(): void {
    this.#failures += 1;
  }

  /** The receiver has answered. */
  answered(): void {
    this.#failures = 0;
  }

  /** How long to wait before the next attempt. */
  waitMs(askedMs = 0): number {
    const own = Math.min(waitMsMax, firstWaitMs * 2 ** Math.max(0, this.#failures - 1));
    return Math.max(own, Math.min(askedMs, askedWaitMsMax));
  }

  /** Whether a decision of this age is given up now. */
  isOver(ageMs: number, giveUpAfterMs: number): boolean {
    return ageMs >= giveUpAfterMs && this.#failures >= failuresOfOutage;
  }
}
