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
  let told = 0;
  let looked = 0;
  const tell = (): void => {
    told += 1;
    const woken = waiters;
    waiters = [];
    for (const each of woken) each();
  };
  /** What is told between a look and the wait for a change must not be waited for. */
  const look = <T>(run: () => T): Promise<T> => {
    looked = told;
    return Promise.resolve(run());
  };
  return {
    state: (event) => {
      engine.state(event);
      tell();
    },
    catalog: (event) => {
      engine.catalog(event);
      tell();
    },
    solveBatch: async (batch, budgetMs) => look(() => engine.solveBatch(batch, budgetMs)),
    solveRequest: async (request) => look(() => engine.solveRequest(request)),
    changed: async (waitMs) => {
      if (told !== looked) return;
      await Promise.race([new Promise<void>((resolve) => waiters.push(resolve)), sleep(waitMs)]);
    },
    ready: () => engine.ready,
  };
}
