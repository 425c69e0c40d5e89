import type { Clock, CloudError, Log, StopSignal } from '@dovetail/core-ports';
import { cloudErrorOf } from './errors.js';
import { Pacer, type Pace } from './pacer.js';

/** Calls that AWS meters alike. */
export type CallKind = 'read' | 'write' | 'terminate' | 'tag' | 'parameter' | 'price' | 'other';

/** EC2's documented buckets of an account and region, one for each action, and the services' own defaults for the rest. */
export const accountPaces: Readonly<Record<CallKind, Pace>> = {
  read: { ratePerSecond: 20, burst: 100 },
  write: { ratePerSecond: 5, burst: 50 },
  terminate: { ratePerSecond: 5, burst: 100 },
  tag: { ratePerSecond: 10, burst: 100 },
  parameter: { ratePerSecond: 40, burst: 40 },
  price: { ratePerSecond: 10, burst: 20 },
  other: { ratePerSecond: 10, burst: 20 },
};

export type CallLimits = {
  /** Tries of one call, the first included, when AWS throttles or does not answer. */
  readonly attemptsMax: number;
  readonly backoffMs: number;
  readonly backoffMsMax: number;
};
export const defaultCallLimits: CallLimits = { attemptsMax: 6, backoffMs: 200, backoffMsMax: 5_000 };

/** Counts of one account's calls, for metrics. */
export type CallObserver = (call: { readonly action: string; readonly durationMs: number; readonly outcome: 'ok' | CloudError['code']; readonly attempt: number }) => void;

const neverStop: StopSignal = { aborted: false, addEventListener: () => undefined, removeEventListener: () => undefined };

/**
 * Every call to AWS goes through here: paced by action for the whole account, tried again where that helps, and its errors
 * told as CloudErrors. All calls of this adapter are idempotent (reads, named or tokened creations, deletions), so
 * trying again after an answer that never came is safe.
 */
export class AwsCalls {
  readonly #clock: Clock;
  readonly #limits: CallLimits;
  readonly #paces: Readonly<Record<CallKind, Pace>>;
  /** By action: EC2 meters each by itself. */
  readonly #pacers = new Map<string, Pacer>();
  readonly #log: Log | undefined;
  readonly #observe: CallObserver | undefined;

  constructor(options: { readonly clock: Clock; readonly limits?: CallLimits; readonly paces?: Readonly<Record<CallKind, Pace>>; readonly log?: Log; readonly observe?: CallObserver }) {
    this.#clock = options.clock;
    this.#limits = options.limits ?? defaultCallLimits;
    this.#paces = options.paces ?? accountPaces;
    this.#log = options.log;
    this.#observe = options.observe;
  }

  /** Runs a call of AWS' API. Rejects with CloudError; once `stop` is aborted it is not tried again. */
  async run<T>(kind: CallKind, action: string, work: () => Promise<T>, stop: StopSignal = neverStop): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      const pacer = this.#pacerOf(kind, action);
      await pacer.take(stop);
      const outcome = await this.#once(pacer, action, attempt, work);
      if (outcome.ok) return outcome.value;
      const { error } = outcome;
      const worthIt = error.code === 'throttled' || error.code === 'unavailable';
      if (!worthIt || attempt >= this.#limits.attemptsMax || stop.aborted) throw error;
      const delayMs = Math.min(this.#limits.backoffMsMax, this.#limits.backoffMs * 2 ** (attempt - 1));
      this.#log?.warn('aws-call-retried', `${action} failed and is tried again`, { action, awsCode: error.awsCode, attempt, delayMs });
      await this.#clock.sleep(delayMs, stop);
    }
  }

  #pacerOf(kind: CallKind, action: string): Pacer {
    const pacer = this.#pacers.get(action) ?? new Pacer(this.#clock, this.#paces[kind]);
    this.#pacers.set(action, pacer);
    return pacer;
  }

  async #once<T>(pacer: Pacer, action: string, attempt: number, work: () => Promise<T>): Promise<{ readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: CloudError }> {
    const startMs = this.#clock.nowMs();
    const told = (outcome: 'ok' | CloudError['code']): void => this.#observe?.({ action, durationMs: this.#clock.nowMs() - startMs, outcome, attempt });
    try {
      const value = await work();
      pacer.succeeded();
      told('ok');
      return { ok: true, value };
    } catch (cause) {
      const error = cloudErrorOf(cause, action);
      if (error.code === 'throttled') pacer.throttled();
      told(error.code);
      return { ok: false, error };
    }
  }
}
