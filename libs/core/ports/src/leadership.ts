import type { StopSignal } from './clock.js';

/** One time in office: it ends when the lease is lost, released, or another has taken it. */
export type Term = {
  /** Grows with every change of holder; never repeats. */
  readonly epoch: number;
  /** Aborted when the term ends. */
  readonly stop: StopSignal;
  /**
   * Writes a value to the leader's Lease, guarded by its resourceVersion: the fence. Succeeds only while the Lease is
   * still the one this term wrote last; a paused leader that wakes fails here with LeadershipLost, and its term ends.
   */
  guardedWrite(value: string): Promise<void>;
  /** What the last guarded write before this term said; empty before the first. */
  readonly inherited: string;
};

export class LeadershipLost extends Error {
  override readonly name = 'LeadershipLost';
}

/** Of several replicas one leads. */
export interface Leadership {
  held(): boolean;
  /** 0 while not leading. */
  epoch(): number;
  /** Runs `onLead` for each term, until `stop`. Waits for `onLead` to end before it runs again. */
  run(stop: StopSignal, onLead: (term: Term) => Promise<void>): Promise<void>;
}
