import type { DecisionKind } from '@dovetail/contracts';

import type { Layout } from '../layout/columns.js';
import type { BusRequest } from '../nats/connection.js';

/** The request of one command line. */
export type DecisionsRequest = BusRequest & {
  /** Follow new decisions, instead of ending at the last decision kept. */
  readonly follow: boolean;
  readonly output: 'table' | 'json';
  /** Absent: rows have any length. */
  readonly layout?: Layout;
  readonly kinds?: readonly DecisionKind[];
  /** A NodePool's name, or kind and name. */
  readonly pool?: string;
  /** Name of a pod, node, claim or instance. */
  readonly about?: string;
  /** The greatest age of the decisions to show. */
  readonly sinceMs?: number;
};

/** Exit codes: done; bad flags or files; NATS cannot be used (EX_UNAVAILABLE). */
export const decisionsExitCodes = { done: 0, badInput: 64, unavailable: 69 } as const;
