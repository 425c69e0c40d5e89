import type { Clock } from '@dovetail/core-ports';

/** What will happen later, in the twin's own time: the injected clock plus an offset that tests may move. */
export type Timeline = {
  nowMs(): number;
  /** Performs everything that is due, in order of its time, then of its planning. */
  settle(): void;
  at(dueMs: number, action: () => void): void;
  after(delayMs: number, action: () => void): void;
  /** Lets time pass at once; what falls due meanwhile happens, each at its own time. */
  advance(durationMs: number): void;
  /** Resolves after a time of the twin (so it shortens when time is advanced), or when `stop` is aborted. */
  sleep(durationMs: number, stop?: AbortSignal): Promise<void>;
  /** Ends all waiting; nothing happens by itself any more. */
  close(): void;
};

type Due = { readonly dueMs: number; readonly order: number; readonly action: () => void };

/** Keeps one wake-up at the clock, for whatever is due first. */
function createAlarm(clock: Clock, ring: () => void): { set(dueMs: number, delayMs: number): void; clear(): void } {
  let set: { readonly dueMs: number; readonly stop: AbortController } | undefined;
  const clear = (): void => { set?.stop.abort(); set = undefined; };
  return {
    clear,
    set(dueMs, delayMs) {
      if (set !== undefined && set.dueMs <= dueMs) return;
      clear();
      const mine = { dueMs, stop: new AbortController() };
      set = mine;
      void clock.sleep(Math.max(1, Math.ceil(delayMs)), mine.stop.signal).then(() => {
        if (set !== mine) return;
        set = undefined;
        ring();
      });
    },
  };
}

/** Puts an action where its time, then its order, has it. */
function plan(due: Due[], item: Due): void {
  const index = due.findIndex((other) => other.dueMs > item.dueMs);
  due.splice(index === -1 ? due.length : index, 0, item);
}

/** Things happen when their time has come even when nobody looks: the timeline asks the clock to be woken. */
export function createTimeline(clock: Clock): Timeline {
  const due: Due[] = [];
  const sleepers = new Set<() => void>();
  let offsetMs = 0;
  let planned = 0;
  let closed = false;
  let settlingMs: number | undefined;
  const nowMs = (): number => settlingMs ?? clock.nowMs() + offsetMs;
  const alarm = createAlarm(clock, () => { settle(); });
  const arm = (): void => {
    const [first] = due;
    if (first !== undefined && !closed && settlingMs === undefined) alarm.set(first.dueMs, first.dueMs - nowMs());
  };
  const settle = (): void => {
    if (settlingMs !== undefined) return;
    const untilMs = nowMs();
    for (let next = due[0]; next !== undefined && next.dueMs <= untilMs; next = due[0]) {
      due.shift();
      settlingMs = next.dueMs;
      try { next.action(); } finally { settlingMs = undefined; }
    }
    arm();
  };
  const at = (dueMs: number, action: () => void): void => { plan(due, { dueMs, order: (planned += 1), action }); arm(); };
  return {
    nowMs, settle, at,
    after: (delayMs, action) => { at(nowMs() + delayMs, action); },
    advance: (durationMs) => { offsetMs += durationMs; alarm.clear(); settle(); },
    sleep: (durationMs, stop) => sleepUntil({ sleepers, stop, closed }, (wake) => { at(nowMs() + durationMs, wake); }),
    close: () => { closed = true; alarm.clear(); for (const wake of [...sleepers]) wake(); },
  };
}

/** Resolves when the plan wakes it, when `stop` is aborted, or when the timeline closes; leaves no listener behind. */
function sleepUntil(end: { readonly sleepers: Set<() => void>; readonly stop: AbortSignal | undefined; readonly closed: boolean }, planWake: (wake: () => void) => void): Promise<void> {
  if (end.closed || end.stop?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const wake = (): void => {
      end.sleepers.delete(wake);
      end.stop?.removeEventListener('abort', wake);
      resolve();
    };
    end.sleepers.add(wake);
    end.stop?.addEventListener('abort', wake, { once: true });
    planWake(wake);
  });
}
