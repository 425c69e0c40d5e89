import type { PendingBatch, PlanRequest } from '@dovetail/contracts';
import type { FollowEvent } from '@dovetail/core-ports';
import type { Solved, SolverEngine } from './engine.js';

/** The engine as the service sees it: in a worker thread in production, in the same thread in tests. */
export interface EnginePort {
  state(event: FollowEvent): void;
  catalog(event: FollowEvent): void;
  solveBatch(batch: PendingBatch, budgetMs: number): Promise<Solved>;
  solveRequest(request: PlanRequest): Promise<Solved>;
  /** Resolves when the mirror has changed, at the latest after so many milliseconds. */
  changed(waitMs: number): Promise<void>;
  ready(): boolean;
}

/** The engine in this thread. `sleep` bounds the waits. */
export function inThread(engine: SolverEngine, sleep: (ms: number) => Promise<void>): EnginePort {
  let waiters: (() => void)[] = [];
  const wake = (): void => {
    const woken = waiters;
    waiters = [];
    for (const each of woken) each();
  };
  return {
    state: (event) => {
      engine.state(event);
      wake();
    },
    catalog: (event) => {
      engine.catalog(event);
      wake();
    },
    solveBatch: (batch, budgetMs) => Promise.resolve(engine.solveBatch(batch, budgetMs)),
    solveRequest: (request) => Promise.resolve(engine.solveRequest(request)),
    changed: (waitMs) => Promise.race([new Promise<void>((resolve) => waiters.push(resolve)), sleep(waitMs)]),
    ready: () => engine.ready,
  };
}
