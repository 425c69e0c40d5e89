import { type Clock, type Log, messageOf, type StopSignal } from '@dovetail/core-ports';

/** A service waits this long before it asks an outside system again at its start. */
const retryMs = 1_000;

/**
 * Repeats `act` each second until it succeeds, and logs `start-waits` after each failure. `what`
 * names the awaited thing. Returns undefined if stopped first.
 */
export async function untilDone<T>(
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  what: string,
  act: () => Promise<T>,
  stop: StopSignal,
): Promise<T | undefined> {
  while (!stop.aborted) {
    try {
      return await act();
    } catch (error) {
      log.warn(
        'start-waits',
        `${what}: not available yet: ${messageOf(error)}; trying again in ${String(retryMs / 1_000)} s`,
        { what },
      );
      await clock.sleep(retryMs, stop);
    }
  }
  return undefined;
}
