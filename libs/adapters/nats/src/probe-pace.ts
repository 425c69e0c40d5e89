/**
 * How often a follower asks for its stream while heartbeats come. It trades a call of every
 * follower of a cluster for how soon a purge is noticed. A deleted stream sends no heartbeats.
 */
const probeMs = 5_000;
/**
 * How long a session may ask with every heartbeat. A follower that has just begun waits for the end
 * of the stream. The answer shows it if the newest messages are gone again.
 */
const beginningMs = 10_000;

/** When a session asks for the state of its stream. All times are in milliseconds of one clock. */
export class ProbePace {
  readonly #begunMs: number;
  #probedMs = -Infinity;

  constructor(begunMs: number) {
    this.#begunMs = begunMs;
  }

  /** Whether to ask now. If so, the next time counts from now. */
  isDue(nowMs: number): boolean {
    const pauseMs = nowMs - this.#begunMs <= beginningMs ? 0 : probeMs;
    if (nowMs - this.#probedMs < pauseMs) return false;
    this.#probedMs = nowMs;
    return true;
  }
}
