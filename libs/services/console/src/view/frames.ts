import type { FleetNode } from '@dovetail/core-fleet';
import type { GapTold } from '@dovetail/service-kit';

/** How the console stands to the bus. */
export type BusLink = {
  /** `reading`: the cluster's state is not complete yet. `away`: what is shown may be old. */
  readonly state: 'reading' | 'live' | 'away';
  readonly sinceMs: number;
};

/** A pod without a node, and why. */
export type WaitingRow = {
  readonly uid: string;
  /** `namespace/name`. */
  readonly pod: string;
  readonly sinceMs: number;
  /** Why, for people. */
  readonly why: string;
  /** The codes of the reasons. Empty: no service decided about the pod. */
  readonly codes: readonly string[];
  /** The smallest change that would place it, if one is known. */
  readonly remedy?: string;
};

/** A decision as a list shows it. `Decision` has the rest. */
export type DecisionRow = {
  readonly id: string;
  readonly kind: string;
  readonly atMs: number;
  readonly source: string;
  /** Kind and name. */
  readonly pool?: string;
  readonly summary: string;
  readonly priceMicrosPerHour?: number;
  readonly priceEstimated: boolean;
};

/** A plan: one round of a solver. */
export type RoundRow = {
  readonly id: string;
  readonly atMs: number;
  readonly summary: string;
  readonly priceMicrosPerHour?: number;
  /** No plan for the same pods costs less. Absent: no bound was proven. */
  readonly lowerBoundMicrosPerHour?: number;
  /** How long the solver took. Absent: unknown. */
  readonly solveMs?: number;
};

/** A service, as far as the bus shows it. */
export type ServiceRow = {
  readonly name: string;
  /** The last sign of it on the bus. Absent: none is kept. */
  readonly lastMs?: number;
  /** The number of its leader's time in office. Absent: it has no leader, or none published. */
  readonly epoch?: number;
  /** Its work, for people. */
  readonly work: string;
};

/** The cost of the cluster from a time on: milliseconds since 1970, and millionths of $/h. */
export type CostPoint = readonly [atMs: number, microsPerHour: number];

/** The price of all nodes beside that of a plan from nothing for their pods, at one time. */
export type GapRow = GapTold & { readonly atMs: number };

/** The last comparison, and the bounds of all that the bus keeps, the oldest first. */
export type GapView = { readonly last?: GapRow; readonly bounds: readonly CostPoint[] };

/** The parts of a view that are sent whole when they change. */
export type ViewParts = {
  readonly pools: readonly string[];
  readonly waiting: {
    readonly total: number;
    /** The longest wait first. */
    readonly rows: readonly WaitingRow[];
  };
  /** The oldest first. */
  readonly cost: readonly CostPoint[];
  readonly gap: GapView;
  /** The oldest first. */
  readonly rounds: readonly RoundRow[];
  readonly services: readonly ServiceRow[];
};

/**
 * A message to the page. `whole`: everything before it is void. `change`: absent parts are as they
 * were.
 */
export type Frame = {
  readonly kind: 'whole' | 'change';
  readonly cluster: string;
  /** The console's clock. Ages and times of the page are counted from it. */
  readonly nowMs: number;
  readonly bus: BusLink;
  /** Nodes that are new or changed, and the UIDs of those that are gone. */
  readonly nodes?: { readonly set: readonly FleetNode[]; readonly gone: readonly string[] };
  /** New ones, the oldest first. */
  readonly decisions?: readonly DecisionRow[];
} & Partial<ViewParts>;
