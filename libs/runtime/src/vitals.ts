import type { Metrics, Vitals } from '@dovetail/core-ports';

/** The vitals of a process, with the loops that are hung now. */
export type ProcessVitals = Vitals & {
  /** Names of the loops with a turn over its limit, each once, sorted. */
  hung(): readonly string[];
};

/** The process' monotonic time in milliseconds; steps of the wall clock do not show in it. */
const monotonicMs = (): number => performance.now();

/**
 * Notices turns that do not end. Time is monotonic, so a step of the clock hangs nothing.
 * Invariant: every turn that has begun and not ended is in the set, once.
 */
export function createVitals({
  nowMs = monotonicMs,
  metrics,
}: {
  /** A monotonic time in milliseconds; the process' own by default. */
  readonly nowMs?: () => number;
  /** Shows the number of hung loops as `dovetail_hung_loops`. */
  readonly metrics: Pick<Metrics, 'set'>;
}): ProcessVitals {
  const turns = new Set<{ readonly name: string; readonly untilMs: number }>();
  return {
    async turn(name, limitMs, work) {
      const turn = { name, untilMs: nowMs() + limitMs };
      turns.add(turn);
      try {
        return await work();
      } finally {
        turns.delete(turn);
      }
    },
    hung() {
      const late = [...turns].filter(({ untilMs }) => untilMs < nowMs());
      const names = [...new Set(late.map(({ name }) => name))].sort();
      metrics.set('dovetail_hung_loops', names.length);
      return names;
    },
  };
}
