import type { Clock, StopSignal } from '@dovetail/core-ports';

/** Cancels a timer. Does nothing when it has run already. */
type Cancel = () => void;

/**
 * The Clock port, timers on that time, and a way to continue after the current turn. Everything in
 * the twin that waits, waits on this clock.
 */
export interface SimClock extends Clock {
  /** Runs once, when this clock has moved on by `delayMs`. */
  after(delayMs: number, run: () => void): Cancel;
  /** Runs after the current turn, independent of time. */
  soon(run: () => void): void;
  /** Moves time forward and runs the timers that become due, earliest first. Tests only. */
  advance(byMs: number): void;
}

type Timer = { readonly dueMs: number; readonly order: number; readonly run: () => void };

const earlier = (a: Timer, b: Timer): number => a.dueMs - b.dueMs || a.order - b.order;

/** Timers in the order of their times, for a clock that pops the due ones. */
class TimerQueue {
  #timers: Timer[] = [];
  #made = 0;

  add(dueMs: number, run: () => void): Timer {
    this.#made += 1;
    const timer = { dueMs, order: this.#made, run };
    let at = this.#timers.length;
    while (at > 0 && earlier(this.#timers[at - 1] as Timer, timer) > 0) at -= 1;
    this.#timers.splice(at, 0, timer);
    return timer;
  }

  remove(timer: Timer): void {
    const at = this.#timers.indexOf(timer);
    if (at >= 0) this.#timers.splice(at, 1);
  }

  nextDueMs(): number | undefined {
    return this.#timers[0]?.dueMs;
  }

  takeDue(nowMs: number): Timer | undefined {
    const first = this.#timers[0];
    if (first === undefined || first.dueMs > nowMs) return undefined;
    this.#timers.shift();
    return first;
  }
}

function sleepOn(
  clock: { after(delayMs: number, run: () => void): Cancel },
  durationMs: number,
  stop: StopSignal,
): Promise<void> {
  if (stop.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      cancel();
      stop.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(durationMs, done);
    stop.addEventListener('abort', done, { once: true });
  });
}

/**
 * Real time plus an offset in milliseconds, which `advance` increases. Its timers do not keep the
 * process alive.
 */
export function createOffsetClock(
  options: { readonly offsetMs?: number } = {},
): SimClock & { offsetMs(): number } {
  let offsetMs = options.offsetMs ?? 0;
  const queue = new TimerQueue();
  let alarm: NodeJS.Timeout | undefined;
  const nowMs = (): number => Date.now() + offsetMs;
  const fire = (): void => {
    for (let timer = queue.takeDue(nowMs()); timer !== undefined; timer = queue.takeDue(nowMs()))
      timer.run();
    arm();
  };
  const arm = (): void => {
    clearTimeout(alarm);
    const dueMs = queue.nextDueMs();
    if (dueMs !== undefined)
      alarm = setTimeout(fire, Math.min(Math.max(0, dueMs - nowMs()), 0x7fff_ffff)).unref();
  };
  const after = (delayMs: number, run: () => void): Cancel => {
    const timer = queue.add(nowMs() + Math.max(0, delayMs), run);
    arm();
    return () => queue.remove(timer);
  };
  return {
    nowMs,
    after,
    soon: (run) => void setImmediate(run),
    sleep: (durationMs, stop) => sleepOn({ after }, durationMs, stop),
    advance: (byMs) => {
      offsetMs += byMs;
      fire();
    },
    offsetMs: () => offsetMs,
  };
}

/** Time that only `advance` moves. It starts at `startMs` (milliseconds since the epoch). */
export function createManualClock(startMs: number): SimClock {
  const queue = new TimerQueue();
  let now = startMs;
  const after = (delayMs: number, run: () => void): Cancel => {
    const timer = queue.add(now + Math.max(0, delayMs), run);
    return () => queue.remove(timer);
  };
  return {
    nowMs: () => now,
    after,
    soon: (run) => void setImmediate(run),
    sleep: (durationMs, stop) => sleepOn({ after }, durationMs, stop),
    advance: (byMs) => {
      const endMs = now + byMs;
      for (
        let dueMs = queue.nextDueMs();
        dueMs !== undefined && dueMs <= endMs;
        dueMs = queue.nextDueMs()
      ) {
        now = Math.max(now, dueMs);
        queue.takeDue(now)?.run();
      }
      now = endMs;
    },
  };
}
