import type { Layout } from '../layout/columns.js';

/** The request of one command line. */
export type ExplainRequest = {
  /** The name of a node or of its NodeClaim. */
  readonly name: string;
  readonly output: 'table' | 'json';
  readonly layout: Layout;
  /** The address of the reaper's HTTP port. Undefined: it is found as `--help` says. */
  readonly reaper?: string;
  /** The cluster to find the leading reaper in. Undefined: as kubectl finds it. */
  readonly kubeconfig?: string;
  /** The namespace of the reaper. Undefined: any. */
  readonly namespace?: string;
};

/** Exit codes: done; bad flags; no such node (EX_NOINPUT); the reaper cannot be asked. */
export const explainExitCodes = { done: 0, badInput: 64, notFound: 66, unavailable: 69 } as const;
