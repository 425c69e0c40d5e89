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

/** Each planned action also asks the clock to be woken, so that things happen when nobody looks. */
export function createTimeline(clock: Clock): Timeline {
  const stop = new AbortController();
  const due: Due[] = [];
  let offsetMs = 0;
  let planned = 0;
  let settlingMs: number | undefined;
  const nowMs = (): number => settlingMs ?? clock.nowMs() + offsetMs;
  const settle = (): void => {
    if (settlingMs !== undefined) return;
    const untilMs = nowMs();
    for (let next = due[0]; next !== undefined && next.dueMs <= untilMs; next = due[0]) {
      due.shift();
      settlingMs = next.dueMs;
      try { next.action(); } finally { settlingMs = undefined; }
    }
  };
  const at = (dueMs: number, action: () => void): void => {
    const item: Due = { dueMs, order: (planned += 1), action };
    const index = due.findIndex((other) => other.dueMs > dueMs);
    due.splice(index === -1 ? due.length : index, 0, item);
    if (!stop.signal.aborted) void clock.sleep(Math.max(0, dueMs - clock.nowMs() - offsetMs), stop.signal).then(settle);
  };
  return {
    nowMs, settle, at,
    after: (delayMs, action) => { at(nowMs() + delayMs, action); },
    advance: (durationMs) => { offsetMs += durationMs; settle(); },
    sleep: (durationMs, ended) => new Promise((resolve) => {
      ended?.addEventListener('abort', () => { resolve(); }, { once: true });
      stop.signal.addEventListener('abort', () => { resolve(); }, { once: true });
      if (ended?.aborted === true || stop.signal.aborted) resolve();
      else at(nowMs() + durationMs, resolve);
    }),
    close: () => { stop.abort(); },
  };
}
