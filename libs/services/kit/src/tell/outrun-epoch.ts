import { type Clock, type Epoch, LeadershipLost, type Log, messageOf } from '@dovetail/core-ports';

/** Pause after a write to the Lease that failed. */
const retryMs = 1_000;

/**
 * Answers what to do when work of a higher epoch is found: the Lease tells whether this leader was
 * deposed, and otherwise begins an epoch above that work. Until one of them is known, it is asked
 * again.
 */
export function outrunEpoch(
  epoch: Pick<Epoch, 'outrun' | 'stop'>,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): (found: number) => void {
  let isAsking = false;
  const ask = async (found: number): Promise<void> => {
    while (!epoch.stop.aborted) {
      try {
        return await epoch.outrun(found);
      } catch (error) {
        if (error instanceof LeadershipLost) return;
        log.warn(
          'epoch-not-outrun',
          `the lease could not be written: ${messageOf(error)}; trying again`,
        );
        await clock.sleep(retryMs, epoch.stop);
      }
    }
  };
  return (found) => {
    if (isAsking) return;
    isAsking = true;
    void ask(found).finally(() => (isAsking = false));
  };
}
