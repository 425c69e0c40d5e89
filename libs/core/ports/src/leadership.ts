import type { StopSignal } from './clock.js';

/** One leader's time in office. It ends when the lease is lost, released, or taken by another. */
export type Epoch = {
  /** Grows with every change of holder and never repeats. Invariant: 0 < number. */
  readonly number: number;
  /** Aborted when the epoch ends. */
  readonly stop: StopSignal;
  /**
   * Writes a value to the leader's Lease, guarded by its resourceVersion: the fence. It succeeds
   * only while the Lease is as this epoch last wrote it. A paused leader that wakes fails here with
   * LeadershipLost, and its epoch ends.
   */
  guardedWrite(value: string): Promise<void>;
  /**
   * Work of this higher epoch was found. A leader that was deposed fails here with LeadershipLost.
   * One that still holds the Lease ends its epoch, and the next epoch is above this number: the
   * Lease had been deleted, and its counting had begun anew.
   */
  outrun(number: number): Promise<void>;
  /** The value of the last guarded write before this epoch; empty if there was none. */
  readonly inherited: string;
};

/** Another replica leads, or may lead: the work of this epoch must end. */
export class LeadershipLost extends Error {
  override readonly name = 'LeadershipLost';
}

/** Elects one leader among several replicas. */
export interface Leadership {
  /**
   * Whether this replica leads now. False as well while its lease is too old to keep others away,
   * as after a pause of the process.
   */
  held(): boolean;
  /** The number of the current epoch; 0 while this replica does not lead. */
  epoch(): number;
  /**
   * Runs `onLead` for each epoch, until `stop`. Waits for `onLead` to end before it runs again.
   * Rejects with its error, unless that is LeadershipLost: the process is to end then.
   */
  run(stop: StopSignal, onLead: (epoch: Epoch) => Promise<void>): Promise<void>;
}
