import {
  type Clock,
  KubeError,
  type Log,
  messageOf,
  type Metrics,
  type StopSignal,
} from '@dovetail/core-ports';

/** The time, and the outlets that tell of delays. */
export type PatientCreateDeps = {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
};

/**
 * Tries in all. With the server's usual answer of one second this waits four seconds: less than a
 * plan lasts, and a round that waits longer holds up the others.
 */
const triesMax = 5;
/** The wait when the server names none, and the longest that is granted. */
const [waitMs, waitMaxMs] = [1_000, 5_000];

/**
 * Makes a claim, and tries again when the API server has too much to do, after the time that it
 * asks for. Otherwise its pods would be batched and planned again at once, which is more work for
 * it. Rejects with KubeError when the tries are used up.
 */
export async function createPatiently<T>(
  { clock, log, metrics }: PatientCreateDeps,
  claim: string,
  create: () => Promise<T>,
  stop: StopSignal,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await create();
    } catch (error) {
      const isBusy = error instanceof KubeError && error.code === 'too-many-requests';
      if (!isBusy || tries >= triesMax || stop.aborted) throw error;
      const { retryAfterSeconds } = error;
      const pauseMs = Math.min(
        waitMaxMs,
        retryAfterSeconds === undefined ? waitMs : retryAfterSeconds * 1_000,
      );
      metrics.count('dovetail_claims_delayed_total', {});
      log.warn(
        'claim-delayed',
        `the API server has too much to do for a NodeClaim: ${messageOf(error)}; trying again in ${pauseMs / 1_000} s`,
        { claim, tries },
      );
      await clock.sleep(pauseMs, stop);
    }
  }
}
