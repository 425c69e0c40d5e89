import { finishMsPerNode, type PlanOptions } from '@dovetail/core-scheduling';

/**
 * The time of one plan, without the time in which it gave way. A plan that was interrupted is
 * improved for as long as any other.
 */
export class OwnTime {
  readonly #nowMs: () => number;
  readonly #giveWay: (() => void) | undefined;
  #startedMs = 0;
  #awayMs = 0;

  constructor(nowMs: () => number, giveWay?: () => void) {
    this.#nowMs = nowMs;
    this.#giveWay = giveWay;
    this.begin();
  }

  /** Counts from now on. */
  begin(): void {
    this.#startedMs = this.#nowMs();
    this.#awayMs = 0;
  }

  /** The milliseconds so far. */
  spentMs(): number {
    return this.#nowMs() - this.#startedMs - this.#awayMs;
  }

  /** The options of plans that end after so many milliseconds, and that give way meanwhile. */
  options(untilMs: number): Required<Pick<PlanOptions, 'shouldStop' | 'giveWay'>> {
    const giveWay = (): void => {
      if (this.#giveWay === undefined) return;
      const beforeMs = this.#nowMs();
      this.#giveWay();
      this.#awayMs += this.#nowMs() - beforeMs;
    };
    const shouldStop = (nodes: number): boolean => {
      giveWay();
      return this.spentMs() + nodes * finishMsPerNode >= untilMs;
    };
    return { shouldStop, giveWay };
  }
}
