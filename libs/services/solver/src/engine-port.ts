import type { PendingBatch, PlanRequest, SearchRequest } from '@dovetail/contracts';
import type { Clock, DebugState, FollowEvent } from '@dovetail/core-ports';
import type { Bound } from '@dovetail/core-scheduling';

import type { Solved, SolverEngine } from './engine.js';
import { EngineDesk, type Measured, type Searched } from './engine-desk.js';
import type { RecordSlice } from './records.js';

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
  /**
   * Plans a what-if request. Batches that come meanwhile are planned first. Rejects when the
   * planner fails.
   */
  solveRequest(request: PlanRequest): Promise<Solved>;
  /**
   * Searches for nodes to give up, for at most `budgetMs`. Batches and requests that come meanwhile
   * are planned first. Rejects when the planner fails.
   */
  search(request: SearchRequest, budgetMs: number): Promise<Searched>;
  /**
   * Compares the price of the nodes with that of a plan from nothing, which is improved for at most
   * `budgetMs`, and proves its bound for at most `boundMs`. Batches and requests that come
   * meanwhile are planned first. Rejects when the planner fails.
   */
  gap(budgetMs: number, boundMs: number): Promise<Measured>;
  /**
   * Resolves with the best bound of the newest plan that is proven in `msMax`; undefined if none is
   * proven. Rejects when the prover fails.
   */
  proveBound(planId: string, msMax: number): Promise<Bound | undefined>;
  /**
   * Resolves with the next slice of what a plan was made from; undefined: it is not kept. Other
   * work comes first.
   */
  record(planId: string): Promise<RecordSlice | undefined>;
  /** The kept parts are lost: the next record writes all of them. */
  forgetRecords(): Promise<void>;
  /** Resolves when the mirror has changed since the last call, or after `waitMs` at the latest. */
  changed(waitMs: number): Promise<void>;
}

/** Shows how far the engine is. */
interface EngineView {
  /** Whether both streams have been read to their ends. */
  ready(): boolean;
  /** Whether a what-if, a search or a plan from nothing is under way. */
  exploring(): boolean;
  /** The state of the engine, in numbers. */
  debugState(): DebugState;
}

/**
 * The engine as the service sees it. It runs in a worker thread in production, and in the same
 * thread in tests.
 */
export type EnginePort = EngineFeed & EnginePlanner & EngineView;

/**
 * The engine in this thread. The clock bounds the waits. `between` lets the event loop turn between
 * two pieces of work.
 */
export function inThread(
  engine: SolverEngine,
  clock: Clock,
  between: () => Promise<void> = () => Promise.resolve(),
): EnginePort {
  const desk = new EngineDesk(engine, clock, { between });
  let exploring = 0;
  const explore = async <T>(work: Promise<T>): Promise<T> => {
    exploring += 1;
    return work.finally(() => (exploring -= 1));
  };
  return {
    state: (event) => desk.state(event),
    catalog: (event) => desk.catalog(event),
    solveBatch: (batch, budgetMs) =>
      new Promise((resolve, reject) => desk.solveBatch(batch, budgetMs, { resolve, reject })),
    solveRequest: (request) =>
      explore(new Promise((resolve, reject) => desk.solveRequest(request, { resolve, reject }))),
    search: (request, budgetMs) => explore(desk.search(request, budgetMs)),
    gap: (budgetMs, boundMs) => explore(desk.gap(budgetMs, boundMs)),
    proveBound: (planId, msMax) => engine.proveBound(planId, msMax),
    record: (planId) => new Promise((resolve, reject) => desk.record(planId, { resolve, reject })),
    forgetRecords: () => Promise.resolve(engine.forgetRecords()),
    changed: (waitMs) => new Promise((resolve) => desk.changed(waitMs, resolve)),
    exploring: () => exploring > 0,
    ready: () => engine.ready,
    debugState: () => engine.debugState(),
  };
}
