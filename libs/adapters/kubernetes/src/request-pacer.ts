/** How fast requests may go: at most `burst` at once, `perSecond` in the long run. */
export type RequestPace = {
  /** Invariant: 0 < perSecond. */
  readonly perSecond: number;
  /** Invariant: 1 <= burst. */
  readonly burst: number;
};

/** Karpenter's defaults for its client (`--kube-client-qps`, `--kube-client-burst`). */
export const defaultPace: RequestPace = { perSecond: 200, burst: 300 };

/**
 * Bindings have a pace of their own, so that the thousands of a large scale-up hold up no other
 * write. It trades their time for the server's load: it is meant to be more than most servers take,
 * whose own priority and fairness then says when it is too much. It was not measured.
 */
export const defaultBindingPace: RequestPace = { perSecond: 2_000, burst: 2_000 };

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
  #restsUntilMs = 0;
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

  /** Lets no request go for so long: the server has too much to do. */
  rest(durationMs: number): void {
    this.#restsUntilMs = Math.max(this.#restsUntilMs, this.#clock.nowMs() + durationMs);
    this.#tokens = 0;
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
    const tokenMs = Math.ceil(((1 - this.#tokens) / this.#pace.perSecond) * 1_000);
    const restMs = Math.max(0, this.#restsUntilMs - this.#clock.nowMs());
    this.#clock.after(restMs + tokenMs, () => {
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
    const sinceMs = Math.max(this.#refilledMs, this.#restsUntilMs);
    const gained = (Math.max(0, nowMs - sinceMs) / 1_000) * this.#pace.perSecond;
    this.#tokens = Math.min(this.#pace.burst, this.#tokens + gained);
    this.#refilledMs = nowMs;
  }
}
