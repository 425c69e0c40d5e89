import type { PendingBatch, PlanRequest } from '@dovetail/contracts';
import { type Clock, type DebugState, type FollowEvent, neverStopping } from '@dovetail/core-ports';
import type { Bound } from '@dovetail/core-scheduling';
import { Wake } from '@dovetail/service-kit';

import type { Solved, SolverEngine } from './engine.js';

/** Takes what the two streams deliver. */
interface EngineFeed {
  /** Applies an event of the state feed. */
  state(event: FollowEvent): void;
  /** Applies an event of the catalog stream. */
  catalog(event: FollowEvent): void;
}

/** Plans on the mirror of the streams. */
interface EnginePlanner {
  /**
   * Plans a batch, and improves the plan for at most `budgetMs`. Rejects when the planner fails.
   */
  solveBatch(batch: PendingBatch, budgetMs: number): Promise<Solved>;
  /** Plans a what-if request. Rejects when the planner fails. */
  solveRequest(request: PlanRequest): Promise<Solved>;
  /**
   * Resolves with the best bound of the newest plan that is proven in `msMax`; undefined if none is
   * proven. Rejects when the prover fails.
   */
  proveBound(planId: string, msMax: number): Promise<Bound | undefined>;
  /** Resolves when the mirror has changed since the last call, or after `waitMs` at the latest. */
  changed(waitMs: number): Promise<void>;
}

/** Shows how far the engine is. */
interface EngineView {
  /** Whether both streams have been read to their ends. */
  ready(): boolean;
  /** The state of the engine, in numbers. */
  debugState(): DebugState;
}

/**
 * The engine as the service sees it. It runs in a worker thread in production, and in the same
 * thread in tests.
 */
export type EnginePort = EngineFeed & EnginePlanner & EngineView;

/** The engine in this thread. The clock bounds the waits. */
export function inThread(engine: SolverEngine, clock: Clock): EnginePort {
  const wake = new Wake(clock);
  const apply = (run: () => void): void => {
    run();
    wake.raise();
  };
  // A change that arrives between an answer and the next wait must end that wait at once.
  const ask = async <T>(run: () => T): Promise<T> => {
    wake.clear();
    return await Promise.resolve(run());
  };
  return {
    state: (event) => apply(() => engine.state(event)),
    catalog: (event) => apply(() => engine.catalog(event)),
    solveBatch: (batch, budgetMs) => ask(() => engine.solveBatch(batch, budgetMs)),
    solveRequest: (request) => ask(() => engine.solveRequest(request)),
    proveBound: (planId, msMax) => engine.proveBound(planId, msMax),
    changed: (waitMs) => wake.wait(neverStopping, waitMs),
    ready: () => engine.ready,
    debugState: () => engine.debugState(),
  };
}
