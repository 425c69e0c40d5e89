import type { StopSignal } from './clock.js';

/** Named conditions, as /readyz shows them. A service is ready when all of them are true. */
export type Readiness = Readonly<Record<string, boolean>>;

/** The state that a service believes now, as /debug/state shows it: JSON, maps and sets. */
export type DebugState = Readonly<Record<string, unknown>>;

/** The face that every service shows to its main. Nothing happens before `run`. */
export type Service = {
  /**
   * Works until `stop`; resolves when everything has ended. Outside systems that are away are
   * waited for and named in the log.
   */
  run(stop: StopSignal): Promise<void>;
  /** Cheap and without effect: /readyz asks it at every request. */
  ready(): Readiness;
  debugState(): DebugState;
  /**
   * Why the node or NodeClaim of this name stays or goes; undefined: there is none. Absent: the
   * service explains no nodes.
   */
  readonly explain?: (name: string) => DebugState | undefined;
};
