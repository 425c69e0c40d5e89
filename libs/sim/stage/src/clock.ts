import { Stopper } from '@dovetail/core-ports';
import { type VirtualClock, virtualClock } from '@dovetail/sim-clock';
import type { SimClock } from '@dovetail/sim-kube';

/**
 * One virtual clock for every twin: sleepers and the timers of the Kubernetes twin wake in the
 * order of their times.
 */
export type StageClock = VirtualClock & Pick<SimClock, 'after' | 'soon'>;

/** A clock that starts at this time (milliseconds since 1970) and moves only by `advance`. */
export function stageClock(startMs: number): StageClock {
  const clock = virtualClock(startMs);
  let last: Promise<void> = Promise.resolve();
  return {
    ...clock,
    // One after another. A hook that waits for time must not turn back the clock of its test.
    advance: (durationMs) => {
      last = last.then(() => clock.advance(durationMs));
      return last;
    },
    soon: (run) => void setImmediate(run),
    after: (delayMs, run) => {
      const stop = new Stopper();
      // A sleep of no time resolves within the turn. A timer never runs in the turn that set it.
      void clock.sleep(Math.max(1, delayMs), stop).then(() => {
        if (!stop.aborted) run();
      });
      return () => stop.abort();
    },
  };
}
