import { existsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

import type { LinearProgram, LpLimits, LpSolution, LpSolver } from '@dovetail/core-ports';

import { isOneFile } from './wasm-loading.js';

/** The data that the thread starts with. */
export type HighsThreadData = { readonly background: boolean };

type Reply =
  | { readonly id: number; readonly solution: LpSolution }
  | { readonly id: number; readonly message: string };
type Waiting = {
  readonly resolve: (solution: LpSolution) => void;
  readonly reject: (error: Error) => void;
};

/** HiGHS in a thread of its own, which starts with the first program. */
export type HighsSolver = LpSolver & {
  /** Starts the thread before there is a program, so that it loads beside other work. */
  start(): void;
  /** Ends the thread. Programs that are still being solved are rejected. */
  close(): Promise<void>;
};

/** Options of the solver of linear and integer programs. */
export type HighsOptions = {
  /** The place of the thread's code. Bundles keep it elsewhere than sources do. */
  readonly threadFile?: URL;
  /** Whether other threads go first on a busy machine. By default the thread is equal to them. */
  readonly background?: boolean;
};

/**
 * One thread and the programs that it was asked to solve. Its end rejects them all.
 *
 * Invariant: it keeps the process alive as long as a program waits or its end is awaited. An idle
 * thread does not.
 */
class Thread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #next = 0;
  #ending = false;

  constructor(file: URL, data: HighsThreadData, onEnd: () => void) {
    this.#worker = new Worker(file, { workerData: data });
    this.#worker.on('message', (reply: Reply) => this.#hear(reply));
    const end = (error: Error): void => {
      onEnd();
      this.#rejectAll(error);
    };
    this.#worker.on('error', (error) =>
      end(new Error('the thread of HiGHS failed', { cause: error })),
    );
    this.#worker.on('exit', () => end(new Error('the thread of HiGHS has ended')));
    // A new listener holds the thread again, so it is released after the last one.
    this.#holdOrRelease();
  }

  ask(program: LinearProgram, limits: LpLimits): Promise<LpSolution> {
    return new Promise((resolve, reject) => {
      const id = this.#next++;
      this.#waiting.set(id, { resolve, reject });
      this.#holdOrRelease();
      this.#worker.postMessage({ id, program, limits });
    });
  }

  async end(): Promise<void> {
    this.#ending = true;
    this.#holdOrRelease();
    await this.#worker.terminate();
  }

  #hear(reply: Reply): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    this.#holdOrRelease();
    if ('solution' in reply) waiting?.resolve(reply.solution);
    else waiting?.reject(new Error(`HiGHS could not solve a program: ${reply.message}`));
  }

  /** A reply may come after `end`: it must not release the thread whose end is awaited. */
  #holdOrRelease(): void {
    if (this.#ending || this.#waiting.size > 0) this.#worker.ref();
    else this.#worker.unref();
  }

  #rejectAll(error: Error): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const one of waiting) one.reject(error);
  }
}

/**
 * The thread's code: beside a bundle, in `gen` when running from source, or in this file where the
 * whole command is one.
 */
function builtThread(): URL {
  if (isOneFile) return new URL(import.meta.url);
  const beside = new URL('./highs-thread.mjs', import.meta.url);
  return existsSync(beside) ? beside : new URL('../gen/highs-thread.mjs', import.meta.url);
}

/**
 * The LP solver of Dovetail: HiGHS (MIT licence), compiled to WebAssembly. It takes about 40 ms and
 * 20 MB to start.
 */
export function highsSolver(options: HighsOptions = {}): HighsSolver {
  const file = options.threadFile ?? builtThread();
  let thread: Thread | undefined;
  const started = (): Thread => {
    const made: Thread = new Thread(file, { background: options.background === true }, () => {
      if (thread === made) thread = undefined;
    });
    return made;
  };
  return {
    start: () => {
      thread ??= started();
    },
    solve: (program, limits) => (thread ??= started()).ask(program, limits),
    close: async () => {
      await thread?.end();
      thread = undefined;
    },
  };
}

/**
 * The share of the remaining time that HiGHS gets. It reads the clock between iterations only, and
 * a late result would be lost.
 */
const toldShare = 0.8;

const unsolved = (program: LinearProgram): LpSolution => ({
  status: 'stopped',
  bound: -Infinity,
  columns: new Float64Array(program.cost.length),
  rowDuals: new Float64Array(program.rowLower.length),
  steps: 0,
});

/**
 * The same solver with a budget of counted steps for all programs together. A program gets the rest
 * of it, and later ones are answered at once, as stopped without a bound. No clock is asked, so the
 * answers are the same on any machine. Programs must not overlap.
 */
export function stepBoxed(solver: LpSolver, stepsMax: number): LpSolver {
  let left = stepsMax;
  return {
    solve: async (program, limits) => {
      if (left <= 0) return unsolved(program);
      const most = Math.min(limits.stepsMax ?? Infinity, left);
      const solution = await solver.solve(program, { ...limits, stepsMax: most });
      left -= solution.steps;
      return solution;
    },
  };
}

/**
 * The same solver with a time budget in milliseconds for all programs together, counted from the
 * first. A program gets the rest of it. Later ones are answered at once, as stopped without a
 * bound.
 */
export function timeBoxed(solver: LpSolver, msMax: number): LpSolver {
  let untilMs: number | undefined;
  return {
    solve: async (program, limits) => {
      untilMs ??= performance.now() + msMax;
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0) return unsolved(program);
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<LpSolution>((resolve) => {
        timer = setTimeout(() => resolve(unsolved(program)), leftMs);
      });
      try {
        return await Promise.race([
          solver.solve(program, { timeMsMax: Math.min(limits.timeMsMax, leftMs * toldShare) }),
          late,
        ]);
      } finally {
        clearTimeout(timer);
      }
    },
  };
}
