import {
  type Clock,
  CloudError,
  type Log,
  messageOf,
  type Metrics,
  type StopSignal,
  type Vitals,
} from '@dovetail/core-ports';

/** The means to read something again and again. */
export type RefreshDeps = {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly vitals: Vitals;
};

/** A fact that is read at its own pace. */
export type Refreshed = {
  /** Names it in logs, metrics and loops. */
  readonly what: string;
  readonly everyMs: number;
  /** A rejection means that AWS or the cluster did not answer all of it. */
  readonly read: () => Promise<void>;
  /** Whether the fact was read before, or something stands in for it. */
  readonly isKnown: () => boolean;
  /** Called after every reading, also after a failed one. */
  readonly onRead: () => void;
};

/** How failed readings are repeated and told. */
export type RefreshLimits = {
  /** Wait after a failed reading. */
  readonly retryMs: number;
  /** While something stands in, the wait doubles up to this. */
  readonly retryMaxMs: number;
  /** A lasting failure is told once, and then at most this often. */
  readonly sayAgainMs: number;
};

/** A reading that lasts longer is hung: all pages of all retries take a few minutes. */
const readMsMax = 900_000;

/** Refreshes a fact until `stop`. A failure is told and tried again. */
export async function keepFresh(
  deps: RefreshDeps,
  fact: Refreshed,
  limits: RefreshLimits,
  stop: StopSignal,
): Promise<void> {
  const troubles = new Troubles(deps, limits.sayAgainMs);
  let failures = 0;
  while (!stop.aborted) {
    let waitMs = fact.everyMs;
    try {
      await deps.vitals.turn(`discovery-${fact.what}`, readMsMax, fact.read);
      failures = 0;
      troubles.over(fact.what);
    } catch (error) {
      failures += 1;
      waitMs = retryAfter(fact, failures, limits);
      deps.metrics.count('dovetail_discovery_failures_total', { what: fact.what });
      troubles.tell(fact.what, error, waitMs);
    }
    fact.onRead();
    await deps.clock.sleep(waitMs, stop);
  }
}

/** Without the fact nothing works, so it is asked for at the quickest pace. */
function retryAfter(fact: Refreshed, failures: number, limits: RefreshLimits): number {
  const { retryMs, retryMaxMs } = limits;
  const waitMs = fact.isKnown() ? Math.min(retryMaxMs, retryMs * 2 ** (failures - 1)) : retryMs;
  return Math.min(fact.everyMs, waitMs);
}

/** Tells of failures by name. One that lasts is repeated at most every few minutes. */
class Troubles {
  readonly #deps: Pick<RefreshDeps, 'clock' | 'log'>;
  readonly #sayAgainMs: number;
  #said: { readonly kind: string; readonly atMs: number } | undefined;

  constructor(deps: Pick<RefreshDeps, 'clock' | 'log'>, sayAgainMs: number) {
    this.#deps = deps;
    this.#sayAgainMs = sayAgainMs;
  }

  tell(what: string, error: unknown, waitMs: number): void {
    const { clock, log } = this.#deps;
    const kind = kindOf(error);
    const nowMs = clock.nowMs();
    const isNew = this.#said?.kind !== kind || nowMs - this.#said.atMs >= this.#sayAgainMs;
    if (isNew) this.#said = { kind, atMs: nowMs };
    log[isNew ? 'warn' : 'debug'](
      'discovery-failed',
      `${what} could not be read: ${messageOf(error)}; trying again in ${waitMs / 1000} s`,
      {
        what,
        error: String(error),
        ...(error instanceof CloudError ? { code: error.code, awsCode: error.awsCode } : {}),
      },
    );
  }

  over(what: string): void {
    if (this.#said === undefined) return;
    this.#said = undefined;
    this.#deps.log.info('discovery-recovered', `${what} can be read again`, { what });
  }
}

/** Messages of AWS carry ids of requests, so the codes tell whether a failure is the same. */
const kindOf = (error: unknown): string =>
  error instanceof CloudError ? `${error.code} ${error.awsCode}` : messageOf(error);
