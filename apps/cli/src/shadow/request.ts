import type { ConsolidationMode } from '@dovetail/core-disruption';
import type { Sizing } from '@dovetail/core-scheduling/sizing';

/** The request of one command line. */
export type ShadowRequest = {
  /** A region of the catalog, or a file of types. */
  readonly catalog: string;
  readonly output: 'table' | 'json';
  readonly consolidation: ConsolidationMode;
  /** The address of Karpenter's metrics, which have its prices. Absent: the catalog's prices. */
  readonly prices?: string;
  /** Ends after this time. Absent: at a signal. */
  readonly forMs?: number;
  /** Time for improving each plan. */
  readonly budgetMs: number;
  readonly sizing?: Partial<Sizing>;
};

/** Exit codes: done; bad input (EX_USAGE); the cluster or the prices cannot be reached. */
export const shadowExitCodes = { done: 0, badInput: 64, unavailable: 69 } as const;
