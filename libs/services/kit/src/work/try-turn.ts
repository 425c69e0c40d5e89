import { type Log, messageOf, type Metrics, type Vitals } from '@dovetail/core-ports';

/** A kind of turn that a loop takes again and again. */
export type LoopTurn = {
  /** The stable name of the loop, in kebab case: its label, and what `/healthz` calls it. */
  readonly loop: string;
  /** A turn that lasts longer, in milliseconds, is hung (see `Vitals.turn`). */
  readonly msMax: number;
  /** The code of the log line about a turn that failed. */
  readonly failure: string;
  /** The first half of that line, such as `a pass over the nodes failed`. */
  readonly what: string;
};

/** The outcome of a turn: what it answered, or the error that it failed with. */
export type Turned<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'failed'; readonly error: unknown };

/** The means of a turn. */
export type TurnDeps = { readonly vitals: Vitals; readonly metrics: Metrics; readonly log: Log };

/**
 * Takes one turn of a loop. A failure ends no loop: it is counted in `dovetail_loop_failures_total`
 * and logged, and the caller tries again.
 */
export async function tryTurn<T>(
  { vitals, metrics, log }: TurnDeps,
  { loop, msMax, failure, what }: LoopTurn,
  work: () => Promise<T>,
): Promise<Turned<T>> {
  try {
    return { kind: 'done', value: await vitals.turn(loop, msMax, work) };
  } catch (error) {
    metrics.count('dovetail_loop_failures_total', { loop });
    log.warn(failure, `${what}: ${messageOf(error)}; trying again`);
    return { kind: 'failed', error };
  }
}
