import type { Clock } from '@dovetail/core-ports';

type Due = { readonly dueMs: number; readonly order: number; readonly action: () => void };

/** Keeps one wake-up at the clock, for the action that is due first. */
class Alarm {
  readonly #clock: Clock;
  readonly #ring: () => void;
  #set: { readonly dueMs: number; readonly stop: AbortController } | undefined;

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** Rings after `delayMs`, unless it will ring for something that is due earlier. */
  set(dueMs: number, delayMs: number): void {
    if (this.#set !== undefined && this.#set.dueMs <= dueMs) return;
    this.clear();
    const mine = { dueMs, stop: new AbortController() };
    this.#set = mine;
    void this.#clock.sleep(Math.max(1, Math.ceil(delayMs)), mine.stop.signal).then(() => {
      if (this.#set !== mine) return;
      this.#set = undefined;
      this.#ring();
    });
  }

  clear(): void {
    this.#set?.stop.abort();
    this.#set = undefined;
  }
}

/**
 * The twin's own time, and the actions planned in it: the injected clock plus an offset that tests
 * may move. Actions happen when they are due even if nobody looks, because the clock wakes the
 * timeline.
 */
export class Timeline {
  readonly #clock: Clock;
  readonly #alarm: Alarm;
  /** Invariant: sorted by dueMs, then by order. */
  readonly #due: Due[] = [];
  readonly #sleepers = new Set<() => void>();
  #offsetMs = 0;
  #planned = 0;
  #closed = false;
  #settlingMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#alarm = new Alarm(clock, () => this.settle());
  }

  /** The twin's time; while an action runs, the time at which it is due. */
  nowMs(): number {
    return this.#settlingMs ?? this.#clock.nowMs() + this.#offsetMs;
  }

  /** Performs everything that is due, by time and then by the order of planning. */
  settle(): void {
    if (this.#settlingMs !== undefined) return;
    const untilMs = this.nowMs();
    const due = this.#due;
    for (let next = due[0]; next !== undefined && next.dueMs <= untilMs; next = due[0]) {
      due.shift();
      this.#settlingMs = next.dueMs;
      try {
        next.action();
      } finally {
        this.#settlingMs = undefined;
      }
    }
    this.#arm();
  }

  at(dueMs: number, action: () => void): void {
    this.#planned += 1;
    const index = this.#due.findIndex((other) => other.dueMs > dueMs);
    const item = { dueMs, order: this.#planned, action };
    this.#due.splice(index === -1 ? this.#due.length : index, 0, item);
    this.#arm();
  }

  after(delayMs: number, action: () => void): void {
    this.at(this.nowMs() + delayMs, action);
  }

  /** Moves time on at once. Everything that falls due meanwhile happens at its own time. */
  advance(durationMs: number): void {
    this.#offsetMs += durationMs;
    this.#alarm.clear();
    this.settle();
  }

  /**
   * Resolves after a time of the twin (so it ends early when time is advanced), when `stop` is
   * aborted, or when the timeline closes. Leaves no listener behind.
   */
  sleep(durationMs: number, stop?: AbortSignal): Promise<void> {
    if (this.#closed || stop?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#sleepers.delete(wake);
        stop?.removeEventListener('abort', wake);
        resolve();
      };
      this.#sleepers.add(wake);
      stop?.addEventListener('abort', wake, { once: true });
      this.after(durationMs, wake);
    });
  }

  /** Ends all waiting. Nothing happens by itself after this. */
  close(): void {
    this.#closed = true;
    this.#alarm.clear();
    for (const wake of [...this.#sleepers]) wake();
  }

  #arm(): void {
    const [first] = this.#due;
    if (first !== undefined && !this.#closed && this.#settlingMs === undefined)
      this.#alarm.set(first.dueMs, first.dueMs - this.nowMs());
  }
}
