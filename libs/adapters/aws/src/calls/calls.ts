import {
  type Clock,
  type CloudError,
  LeadershipLost,
  type Log,
  neverStopping,
  type StopSignal,
} from '@dovetail/core-ports';

import { cloudErrorOf } from './errors.js';
import { type Pace, Pacer } from './pacer.js';

/** Kinds of calls. AWS meters the calls of one kind alike. */
export type CallKind =
  'read' | 'write' | 'terminate' | 'tag' | 'parameter' | 'price' | 'queue' | 'other';

/** Kinds of calls that change instances, fleets or templates. */
const writes: ReadonlySet<CallKind> = new Set(['write', 'terminate', 'tag']);

/**
 * EC2's documented request buckets of an account and region, one for each action. The other
 * services' rates are their own default quotas.
 * https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html
 */
const accountPaces: Readonly<Record<CallKind, Pace>> = {
  read: { ratePerSecond: 20, burst: 100 },
  write: { ratePerSecond: 5, burst: 50 },
  terminate: { ratePerSecond: 5, burst: 100 },
  tag: { ratePerSecond: 10, burst: 100 },
  parameter: { ratePerSecond: 40, burst: 40 },
  price: { ratePerSecond: 10, burst: 20 },
  // SQS meters standard queues hardly at all; a burst of Spot notices must not wait for this.
  queue: { ratePerSecond: 500, burst: 1_000 },
  other: { ratePerSecond: 10, burst: 20 },
};

/** How a call that AWS throttles or does not answer is retried. */
export type CallLimits = {
  /** Attempts of one call, the first included. Invariant: 1 <= attemptsMax. */
  readonly attemptsMax: number;
  /**
   * The wait before the second attempt. Each later wait is twice as long. A random part, up to half
   * of each, is left out: replicas and clusters of one account then do not retry in step.
   */
  readonly backoffMs: number;
  /** The longest wait between two attempts, before its random part is left out. */
  readonly backoffMsMax: number;
};

/**
 * Six attempts in about six seconds: longer than EC2's usual throttling, shorter than a loop that
 * asks again anyway.
 */
const defaultCallLimits: CallLimits = { attemptsMax: 6, backoffMs: 200, backoffMsMax: 5_000 };

/** Receives each attempt of a call, for metrics. `durationMs` excludes the wait for the pacer. */
export type CallObserver = (call: {
  readonly action: string;
  readonly durationMs: number;
  readonly outcome: 'ok' | CloudError['code'];
  readonly attempt: number;
}) => void;

/**
 * Every call to AWS goes through here. It is paced by action for the whole account, retried where
 * that helps, and fails with a CloudError. A retry after a lost answer is safe, because every call
 * of this adapter is idempotent. Calls read, delete, or create with a name or a token.
 */
export class AwsCalls {
  readonly #clock: Clock;
  readonly #limits: CallLimits;
  readonly #paces: Readonly<Record<CallKind, Pace>>;
  /** By action, because EC2 meters each action separately. */
  readonly #pacers = new Map<string, Pacer>();
  readonly #log: Log | undefined;
  readonly #observe: CallObserver | undefined;
  readonly #random: () => number;
  readonly #mayWrite: () => boolean;

  constructor(options: {
    readonly clock: Clock;
    readonly limits?: CallLimits;
    readonly paces?: Readonly<Record<CallKind, Pace>>;
    readonly log?: Log;
    readonly observe?: CallObserver;
    /** Numbers from 0 to less than 1; a parameter so that tests repeat. */
    readonly random?: () => number;
    readonly mayWrite?: () => boolean;
  }) {
    this.#clock = options.clock;
    this.#limits = options.limits ?? defaultCallLimits;
    this.#paces = options.paces ?? accountPaces;
    this.#log = options.log;
    this.#observe = options.observe;
    this.#random = options.random ?? Math.random;
    this.#mayWrite = options.mayWrite ?? (() => true);
  }

  /**
   * Runs a call of AWS' API. Rejects with CloudError, or with LeadershipLost for a write that came
   * too late. Once `stop` is aborted there is no further attempt.
   */
  async run<T>(
    kind: CallKind,
    action: string,
    work: () => Promise<T>,
    stop: StopSignal = neverStopping,
  ): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      const pacer = this.#pacerOf(kind, action);
      await pacer.take(stop);
      if (writes.has(kind) && !this.#mayWrite())
        throw new LeadershipLost(`${action}: another replica may lead`);
      const outcome = await this.#once(pacer, action, attempt, work);
      if (outcome.ok) return outcome.value;
      const { error } = outcome;
      const retryable = error.code === 'throttled' || error.code === 'unavailable';
      if (!retryable || attempt >= this.#limits.attemptsMax || stop.aborted) throw error;
      const delayMs = this.#delayAfter(attempt);
      this.#log?.warn('aws-call-retried', `${action} failed and will be retried`, {
        action,
        awsCode: error.awsCode,
        attempt,
        delayMs,
      });
      await this.#clock.sleep(delayMs, stop);
    }
  }

  #delayAfter(attempt: number): number {
    const { backoffMs, backoffMsMax } = this.#limits;
    const fullMs = Math.min(backoffMsMax, backoffMs * 2 ** (attempt - 1));
    return Math.round(fullMs * (1 - this.#random() / 2));
  }

  #pacerOf(kind: CallKind, action: string): Pacer {
    const pacer = this.#pacers.get(action) ?? new Pacer(this.#clock, this.#paces[kind]);
    this.#pacers.set(action, pacer);
    return pacer;
  }

  async #once<T>(
    pacer: Pacer,
    action: string,
    attempt: number,
    work: () => Promise<T>,
  ): Promise<
    { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: CloudError }
  > {
    const startMs = this.#clock.nowMs();
    const report = (outcome: 'ok' | CloudError['code']): void =>
      this.#observe?.({ action, durationMs: this.#clock.nowMs() - startMs, outcome, attempt });
    try {
      const value = await work();
      pacer.succeeded();
      report('ok');
      return { ok: true, value };
    } catch (cause) {
      const error = cloudErrorOf(cause, action);
      if (error.code === 'throttled') pacer.throttled();
      report(error.code);
      return { ok: false, error };
    }
  }
}
