import type { ReaperDeps } from '../deps.js';

/**
 * Whether our clock may decide how old something is. The API server dates claims, nodes and pods.
 * If our clock is far from its, nodes would expire, and empty ones end, long before their time.
 */
export class ClockCheck {
  readonly #deps: Pick<ReaperDeps, 'serverClock' | 'log' | 'metrics'>;
  readonly #differenceMsMax: number;
  #isHeld = false;

  constructor(deps: Pick<ReaperDeps, 'serverClock' | 'log' | 'metrics'>, differenceMsMax: number) {
    this.#deps = deps;
    this.#differenceMsMax = differenceMsMax;
  }

  /** Also logs when that changes. False, without a word, until the server has answered. */
  isRight(): boolean {
    const { serverClock, metrics } = this.#deps;
    const aheadMs = serverClock.aheadMs();
    if (aheadMs === undefined) return false;
    metrics.set('dovetail_clock_ahead_seconds', aheadMs / 1_000);
    const isWrong = Math.abs(aheadMs) > this.#differenceMsMax;
    if (isWrong !== this.#isHeld) this.#tell(aheadMs, isWrong);
    this.#isHeld = isWrong;
    return !isWrong;
  }

  #tell(aheadMs: number, isWrong: boolean): void {
    const { log } = this.#deps;
    const seconds = Math.round(Math.abs(aheadMs) / 1_000);
    const side = aheadMs > 0 ? 'ahead of' : 'behind';
    if (isWrong)
      log.error(
        'clock-wrong',
        `the clock of this process is ${String(seconds)} s ${side} the API server's: only interrupted and deleted nodes are ended until it is set right`,
        { aheadSeconds: aheadMs / 1_000 },
      );
    else
      log.info('clock-right', "the clock of this process agrees with the API server's again", {
        aheadSeconds: aheadMs / 1_000,
      });
  }
}
