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

type Sleeper = { readonly untilMs: number; readonly order: number; readonly wake: () => void };

export function virtualClock(startMs: number): VirtualClock {
  let currentMs = startMs;
  let order = 0;
  let sleepers: Sleeper[] = [];
  const sleep = (durationMs: number, stop: StopSignal): Promise<void> => {
    if (stop.aborted || durationMs <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const sleeper: Sleeper = {
        untilMs: currentMs + durationMs,
        order: order++,
        wake: () => end(),
      };
      const end = (): void => {
        sleepers = sleepers.filter((other) => other !== sleeper);
        stop.removeEventListener('abort', end);
        resolve();
      };
      sleepers.push(sleeper);
      stop.addEventListener('abort', end, { once: true });
    });
  };
  const advance = async (durationMs: number): Promise<void> => {
    const untilMs = currentMs + durationMs;
    for (;;) {
      await settle();
      const next = sleepers.toSorted((a, b) => a.untilMs - b.untilMs || a.order - b.order)[0];
      if (next === undefined || next.untilMs > untilMs) break;
      currentMs = Math.max(currentMs, next.untilMs);
      next.wake();
    }
    currentMs = untilMs;
    await settle();
  };
  return { nowMs: () => currentMs, sleep, advance, sleeping: () => sleepers.length };
}

/** Lets every promise settle that needs neither time nor I/O. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1)
    await new Promise<void>((resolve) => setImmediate(resolve));
}
