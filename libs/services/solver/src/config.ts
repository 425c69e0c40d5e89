import type { Channel } from '@dovetail/contracts';
import type {
  BusConnection,
  Log,
  Metrics,
  Packing,
  StreamAdmin,
  Vitals,
} from '@dovetail/core-ports';
import type { Decisions } from '@dovetail/service-kit';

import type { EnginePort } from './engine-port.js';

/** The ports that a solver works with: the bus, and the engine beside it. */
export type SolverDeps = {
  readonly channel: Channel & { readonly bus: StreamAdmin & BusConnection };
  readonly engine: EnginePort;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly vitals: Vitals;
  /** Packs what is kept of plans. */
  readonly packing: Packing;
};

/** The ports, and the teller of decisions that batches and requests share. */
export type TellingDeps = SolverDeps & {
  readonly decisions: Pick<Decisions, 'tell'>;
  /** Keeps what a plan was made from. Resolves when that is done or has failed. */
  readonly recorder: { record(planId: string): Promise<void> };
};

/** The times and counts that a solver keeps. */
export type SolverConfig = {
  /** Time for improving a plan of pending pods, in milliseconds. */
  readonly budgetMs: number;
  /**
   * The most time for improving a requested plan, in milliseconds, whatever the request asks for.
   * It keeps one request from holding up the others.
   */
  readonly requestBudgetMaxMs: number;
  /**
   * The most time of a search for nodes to give up, and of a plan from nothing, in milliseconds,
   * whatever the request asks for. They run between plans of pending pods.
   */
  readonly searchBudgetMaxMs: number;
  /**
   * Time for proving the bound of a plan that was sent, in milliseconds. Nothing waits for it but
   * the plan's decision. 0: decisions carry the quick bound.
   */
  readonly boundMs: number;
  /** Whether what each plan was made from is kept, so that the plan can be made again. */
  readonly records: boolean;
  /** How long a batch may wait for the mirror before it is given back, in milliseconds. */
  readonly patienceMs: number;
  /** After this many failures here, a batch ends with a decision. */
  readonly failuresMax: number;
};

/**
 * The budget trades price against the time that pods wait; most of the improvement comes early. The
 * patience is far above the feed's usual delay, so that batches are not handed around needlessly.
 * The time for bounds is that of `dovetail simulate`: HiGHS answers for most plans within it. A
 * search of 500 nodes takes 10 s alone, and longer between batches.
 */
export const defaultSolverConfig: SolverConfig = {
  budgetMs: 100,
  requestBudgetMaxMs: 2_000,
  searchBudgetMaxMs: 60_000,
  boundMs: 1_000,
  records: true,
  patienceMs: 10_000,
  failuresMax: 3,
};
