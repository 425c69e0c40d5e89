import type { Clock, StopSignal } from '@dovetail/core-ports';

/**
 * A clock that only `advance` moves, for tests and simulation. Sleepers wake in the order of their
 * times.
 */
export type VirtualClock = Clock & {
  /**
   * Moves time on. Wakes each sleeper at its own time, and lets its work settle before the next.
   */
  advance(durationMs: number): Promise<void>;
  /** The number of sleepers that wait now. */
  sleeping(): number;
};

type Sleeper = { readonly untilMs: number; readonly wake: () => void };

/** Sleepers of one time, in the order in which they lay down. */
type Waking = Set<Sleeper>;

export function virtualClock(startMs: number): VirtualClock {
  let currentMs = startMs;
  // By the time at which they wake. Far fewer times than sleepers: loops sleep alike.
  const wakings = new Map<number, Waking>();
  const leave = (sleeper: Sleeper): void => {
    const waking = wakings.get(sleeper.untilMs);
    waking?.delete(sleeper);
    if (waking?.size === 0) wakings.delete(sleeper.untilMs);
  };
  const sleep = (durationMs: number, stop: StopSignal): Promise<void> => {
    if (stop.aborted || durationMs <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const sleeper: Sleeper = { untilMs: currentMs + durationMs, wake: () => end() };
      const end = (): void => {
        leave(sleeper);
        stop.removeEventListener('abort', end);
        resolve();
      };
      const waking = wakings.get(sleeper.untilMs) ?? new Set();
      wakings.set(sleeper.untilMs, waking.add(sleeper));
      stop.addEventListener('abort', end, { once: true });
    });
  };
  const advance = async (durationMs: number): Promise<void> => {
    const untilMs = currentMs + durationMs;
    for (;;) {
      await settle();
      const nextMs = earliest(wakings.keys());
      if (nextMs > untilMs) break;
      currentMs = Math.max(currentMs, nextMs);
      const [next] = wakings.get(nextMs) ?? [];
      next?.wake();
    }
    currentMs = untilMs;
    await settle();
  };
  const sleeping = (): number =>
    [...wakings.values()].reduce((sum, waking) => sum + waking.size, 0);
  return { nowMs: () => currentMs, sleep, advance, sleeping };
}

/** The least of these times; infinity when there is none. */
function earliest(times: Iterable<number>): number {
  let least = Number.POSITIVE_INFINITY;
  for (const each of times) if (each < least) least = each;
  return least;
}

/** Lets every promise settle that needs neither time nor I/O. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1)
    await new Promise<void>((resolve) => setImmediate(resolve));
}
