import type { BusRequest } from '../nats/connection.js';

/** The request of one command line. */
export type StatusRequest = {
  /** Without an address only a lab's is read: another bus may be another cluster's. */
  readonly bus: BusRequest;
  readonly output: 'table' | 'json';
  /** The cluster. Undefined: the lab's, or as kubectl finds it. */
  readonly kubeconfig?: string;
  /** Whether a lab that runs in this folder comes before the cluster that kubectl finds. */
  readonly labFirst: boolean;
  /** The namespace of the services' Leases. Undefined: any. */
  readonly namespace?: string;
  /** The columns of the terminal. Undefined: lines have any length. */
  readonly width?: number;
};

/** Exit codes: done; bad flags; the cluster or its bus cannot be read (EX_UNAVAILABLE). */
export const statusExitCodes = { done: 0, badInput: 64, unavailable: 69 } as const;
