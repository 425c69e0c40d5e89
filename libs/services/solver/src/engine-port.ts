import type { PendingBatch, PlanRequest, SearchReply, SearchRequest } from '@dovetail/contracts';
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
   * Searches for nodes to give up, for at most `budgetMs`. Batches and requests that come meanwhile
   * are planned first. Rejects when the planner fails.
   */
  search(request: SearchRequest, budgetMs: number): Promise<Searched>;
  /**
   * Resolves with the best bound of the newest plan that is proven in `msMax`; undefined if none is
   * proven. Rejects when the prover fails.
   */
  proveBound(planId: string, msMax: number): Promise<Bound | undefined>;
  /** Resolves when the mirror has changed since the last call, or after `waitMs` at the latest. */
  changed(waitMs: number): Promise<void>;
}

/**
 * The result of a search. `behind`: the mirror is not complete yet. `busy`: one search is under
 * way, and a second would only make both slower.
 */
export type Searched =
  { readonly kind: 'found'; readonly found: SearchReply } | { readonly kind: 'behind' | 'busy' };

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

/**
 * The engine in this thread. The clock bounds the waits. A search calls `between` before each of
 * its plans: all questions that wait are answered in it.
 */
export function inThread(
  engine: SolverEngine,
  clock: Clock,
  between: () => Promise<void> = () => Promise.resolve(),
): EnginePort {
  const wake = new Wake(clock);
  const search = searchingOne(engine, between);
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
    search,
    proveBound: (planId, msMax) => engine.proveBound(planId, msMax),
    changed: (waitMs) => wake.wait(neverStopping, waitMs),
    ready: () => engine.ready,
    debugState: () => engine.debugState(),
  };
}

/** Searches slice by slice, one search at a time. */
function searchingOne(engine: SolverEngine, between: () => Promise<void>): EnginePlanner['search'] {
  let isSearching = false;
  const finish = async (slices: Generator<undefined, SearchReply>): Promise<SearchReply> => {
    for (;;) {
      const { done, value } = slices.next();
      if (done === true) return value;
      await between();
    }
  };
  return async (request, budgetMs) => {
    if (isSearching) return { kind: 'busy' };
    const slices = engine.search(request, budgetMs);
    if (slices === undefined) return { kind: 'behind' };
    isSearching = true;
    try {
      return { kind: 'found', found: await finish(slices) };
    } finally {
      isSearching = false;
    }
  };
}
