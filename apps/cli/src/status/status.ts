import type { QueueLag } from '@dovetail/core-ports';
import type { GapTold } from '@dovetail/service-kit';

/** The name and version of the form of `dovetail status -o json`. A version only gains fields. */
export const statusSchema = 'dovetail.sh/status/v1';

/** A service, by its Lease. */
export type ServiceStatus = {
  readonly name: string;
  readonly namespace: string;
  /** The replica that leads. Absent: none does. */
  readonly leader?: string;
  /** How long ago the leader renewed its Lease. */
  readonly renewedMsAgo?: number;
  /** Whether the Lease has run out, so that nothing is done in this service's name. */
  readonly overdue: boolean;
};

/** The pods' requests of what their nodes can give: `cpu` in millicores, memory in bytes. */
export type Fill = { readonly requested: number; readonly allocatable: number };

/** Nodes and their price. */
export type NodesStatus = {
  /** Claims that have become nodes. */
  readonly nodes: number;
  readonly readyNodes: number;
  /** Claims whose node has not joined yet. */
  readonly launching: number;
  /** Claims that are being deleted; they count as nodes, too, while they have one. */
  readonly ending: number;
  readonly cpu: Fill;
  readonly memory: Fill;
  readonly priceMicrosPerHour: number;
  /** Whether one of the prices is estimated. */
  readonly priceEstimated: boolean;
  /** Claims without a known price, which the sum leaves out. */
  readonly unpriced: number;
};

/** A pod without a node. */
export type WaitingPod = {
  readonly pod: string;
  readonly uid: string;
  readonly waitingMs: number;
  /** The scheduler that the pod names: `default-scheduler` unless it names another. */
  readonly scheduler: string;
  /** Why, for people. */
  readonly why: string;
  /** The codes of the reasons, if a service decided about the pod. */
  readonly codes?: readonly string[];
  /** The kind of that decision. */
  readonly said?: string;
};

/** A plan, or the beginning of a node's end. */
export type RoundStatus = {
  readonly time: string;
  readonly msAgo: number;
  readonly kind: string;
  readonly summary: string;
  readonly priceMicrosPerHour?: number;
  /** No plan for these pods costs less. */
  readonly lowerBoundMicrosPerHour?: number;
};

/** The price of all nodes beside that of a plan from nothing for their pods, as last compared. */
export type GapStatus = GapTold & { readonly time: string; readonly msAgo: number };

/** Dovetail in a cluster at one moment. */
export type Status = {
  readonly schema: typeof statusSchema;
  readonly time: string;
  readonly services: readonly ServiceStatus[];
  readonly pools: readonly ({ readonly pool: string } & NodesStatus)[];
  readonly total: NodesStatus;
  readonly waiting: readonly WaitingPod[];
  /**
   * Batches of pending pods that no solver has got, and those that a solver has got and not
   * planned. Absent: no solver has run yet, or NATS is not asked or does not say it.
   */
  readonly batches?: QueueLag;
  /** The last rounds, the oldest first. Absent: the decisions are not read. */
  readonly rounds?: readonly RoundStatus[];
  /** Absent: nothing was compared, or the decisions are not read. */
  readonly gap?: GapStatus;
  /** Why the decisions are not read, or not to the end. */
  readonly decisionsUnread?: string;
};
