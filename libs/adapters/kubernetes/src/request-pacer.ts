/** How fast requests may go: at most `burst` at once, `perSecond` in the long run. */
export type RequestPace = {
  /** Invariant: 0 < perSecond. */
  readonly perSecond: number;
  /** Invariant: 1 <= burst. */
  readonly burst: number;
};

/** Karpenter's defaults for its client (`--kube-client-qps`, `--kube-client-burst`). */
export const defaultPace: RequestPace = { perSecond: 200, burst: 300 };

/** Of requests that wait, the urgent go first and the spare ones last. */
export type Urgency = (typeof urgencies)[number];

const urgencies = ['urgent', 'ordinary', 'spare'] as const;

/** The time of the pacer; tests give their own. */
export type PacerClock = {
  /** A monotonic time in milliseconds. */
  readonly nowMs: () => number;
  readonly after: (delayMs: number, act: () => void) => void;
};

const processClock: PacerClock = {
  nowMs: () => performance.now(),
  after: (delayMs, act) => {
    setTimeout(act, delayMs);
  },
};

/**
 * One bucket of tokens for all requests of a process to the API server. Requests of one urgency go
 * in the order of their arrival.
 *
 * Invariant: 0 <= tokens <= burst, and nobody waits while there is a whole token.
 */
export class RequestPacer {
  readonly #pace: RequestPace;
  readonly #clock: PacerClock;
  readonly #waiting: Readonly<Record<Urgency, (() => void)[]>> = {
    urgent: [],
    ordinary: [],
    spare: [],
  };
  #tokens: number;
  #refilledMs: number;
  #isAwake = false;

  constructor(pace: RequestPace, clock: PacerClock = processClock) {
    this.#pace = pace;
    this.#clock = clock;
    this.#tokens = pace.burst;
    this.#refilledMs = clock.nowMs();
  }

  /** Resolves when the request may go. */
  take(urgency: Urgency): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting[urgency].push(resolve);
      this.#serve();
    });
  }

  #serve(): void {
    this.#refill();
    while (this.#tokens >= 1) {
      const next = this.#next();
      if (next === undefined) return;
      this.#tokens -= 1;
      next();
    }
    if (this.#isAwake || urgencies.every((each) => this.#waiting[each].length === 0)) return;
    this.#isAwake = true;
    this.#clock.after(Math.ceil(((1 - this.#tokens) / this.#pace.perSecond) * 1_000), () => {
      this.#isAwake = false;
      this.#serve();
    });
  }

  #next(): (() => void) | undefined {
    const waiting = urgencies.map((each) => this.#waiting[each]);
    return waiting.find(({ length }) => length > 0)?.shift();
  }

  #refill(): void {
    const nowMs = this.#clock.nowMs();
    const gained = ((nowMs - this.#refilledMs) / 1_000) * this.#pace.perSecond;
    this.#tokens = Math.min(this.#pace.burst, this.#tokens + gained);
    this.#refilledMs = nowMs;
  }
}
