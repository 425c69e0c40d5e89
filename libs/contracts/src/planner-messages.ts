import type { Plan } from '@dovetail/core-scheduling';

import type { Replacement } from './messages.js';

/** A request for a what-if plan: these pods must move, and these nodes are gone. */
export type PlanRequest = {
  /** Bound or pending pods, planned as if they had to move. */
  readonly podUids: readonly string[];
  /** Nodes to leave out, by name, as if they were gone. */
  readonly withoutNodes: readonly string[];
  /**
   * Present: the solver also publishes the plan for admission, as a replacement of these nodes. Of
   * several, pods that the state feed does not have are left out of the plan.
   */
  readonly commit?: Replacement;
  /** Only options cheaper than this, for replacements that must save. */
  readonly maxPriceMicrosPerHour?: number;
  readonly budgetMs: number;
  /**
   * The nodes that may take pods, by name. They are filled before nodes are bought. Absent: all
   * may.
   */
  readonly openNodes?: readonly string[];
  /** Whether the plan's input is recorded, because something will be done on the answer. */
  readonly isRecorded?: boolean;
  /** Present: nodes to give up are searched. Of the rest, only the budget counts. */
  readonly search?: SearchRequest;
  /**
   * True: the price of the nodes with claims is compared with that of a plan from nothing for their
   * pods. Of the rest, only the budget counts.
   */
  readonly gap?: boolean;
};
/** A search for nodes that can go together, with cheaper nodes for their pods. */
export type SearchRequest = {
  /** The claims whose nodes may go, by UID. */
  readonly claimUids: readonly string[];
  /** Whether Spot nodes may be bought for Spot nodes. */
  readonly spotToSpot: boolean;
  /** The least saving of a command. */
  readonly savingMinMicrosPerHour: number;
  /** The same in millionths of the price before. */
  readonly savingMinPpm: number;
  /** The move of an ordinary pod must save so much. */
  readonly moveCostMicrosPerHour: number;
};
/** Nodes that can go together. */
export type FoundCommand = {
  /** Their claims, by UID: one at least. */
  readonly claimUids: readonly string[];
  /** The nodes that take pods of them, by name. */
  readonly openNodes: readonly string[];
  /** The number of nodes that are bought. */
  readonly nodesIn: number;
  readonly savedMicrosPerHour: number;
};
/** The result of a search. */
export type SearchReply = {
  /** The most saving per disruption first. Invariant: no node is in two of them. */
  readonly commands: readonly FoundCommand[];
  /** False: the time of the search was over, or commands are left out. */
  readonly complete: boolean;
  /** The plans that were made. */
  readonly tries: number;
};
/**
 * The price of the nodes with claims beside that of a plan from nothing for their pods: a plan that
 * may use none of the nodes that exist, and that pool limits do not count them for.
 */
export type GapReply = {
  /** Claims whose node has joined or is on its way. */
  readonly nodes: number;
  /** Their price now. Nodes without a price are left out. */
  readonly priceMicrosPerHour: number;
  /** Nodes of these whose offering the catalog does not name. */
  readonly nodesWithoutPrice: number;
  /** Pods of these nodes that would need another place, and those promised a place on them. */
  readonly pods: number;
  /** The new nodes of the plan from nothing. */
  readonly planNodes: number;
  readonly planPriceMicrosPerHour: number;
  /** The bound of the plan's price that was proven. */
  readonly bound: Plan['bound'];
  /** Pods that the plan leaves without a place. Neither its price nor the bound counts them. */
  readonly podsUnplaced: number;
  readonly statePosition: PlanReply['statePosition'];
  /** The time of planning, without the proof. */
  readonly solveMs: number;
  /** Whether a price in it is estimated from another region's. */
  readonly priceEstimated: boolean;
};
/** A what-if plan, and the position of the state feed that it is based on. */
export type PlanReply = {
  readonly planId: string;
  readonly plan: Plan;
  readonly statePosition: { readonly incarnation: string; readonly sequence: number };
};
