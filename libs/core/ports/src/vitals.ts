/**
 * Watches over turns of work that must end. A loop that waits for work is well. When a turn began
 * and does not end within its limit, the service counts as dead (`/healthz`).
 */
export interface Vitals {
  /**
   * Runs one turn of a loop and answers its result. `name` is a stable kebab-case name of the loop.
   * While the turn lasts longer than `limitMs`, the loop counts as hung. A limit is far above the
   * time that the slowest healthy turn takes, so that a busy machine restarts nothing.
   */
  turn<T>(name: string, limitMs: number, work: () => Promise<T>): Promise<T>;
}

/** Watches over nothing; for tests and for commands that end by themselves. */
export const noVitals: Vitals = { turn: (_name, _limitMs, work) => work() };
