import type { DisruptionReason } from '@dovetail/core-api';

import type { DisruptionNote } from '../facts/refusal.js';
import type { Retirement, RetirementCause } from '../facts/retirement-record.js';
import type { NodeView } from '../facts/view.js';
import { driftedStanding, driftOver } from './drift.js';
import { emptinessOver, emptyStanding } from './emptiness.js';
import { allowedExpiries, expiredStanding } from './expiry.js';
import { type CauseFacts, ofNoConcern, type Standing } from './standing.js';
import { underusedStanding } from './under-used.js';
import { unhealthyStanding } from './unhealthy-node.js';

/** How long a retirement waits. The values trade the pods' wait against nodes bought too many. */
export type RetirementLimits = {
  /**
   * A node without a deadline (expired, drifted, or announced for maintenance) waits this long for
   * its replacement, once a solver has answered.
   */
  readonly expiryWaitMs: number;
  /** A node that will be taken away waits at most this long for its replacement. */
  readonly interruptionWaitMs: number;
  /**
   * The same while no solver has answered: time for a second asking, after a crash or a lost
   * answer.
   */
  readonly unansweredWaitMs: number;
  /**
   * An expired or drifted node that no solver has answered for gives its place to the next after
   * this time.
   * There may be an answer for others.
   */
  readonly unansweredExpiryMs: number;
  /**
   * An under-used node is kept if its pods have no other place after this time (`commandWaitMs`).
   */
  readonly consolidationWaitMs: number;
  /**
   * The time that a drain takes beside the pods' grace, kept free before a deadline: evictions, and
   * the least duration of a drain.
   */
  readonly drainReserveMs: number;
  /**
   * After this time a plan has become claims or never will (plans live 60 s), so a solver is asked
   * again.
   */
  readonly askAgainMs: number;
  /**
   * The same for a node with a deadline, where a late replacement costs more than one too many. A
   * newer plan replaces one that was not admitted.
   */
  readonly askAgainUrgentMs: number;
};

/** A cause for which nodes are retired: everything that differs from one cause to another. */
export type Cause = {
  /** Its name in explanations. */
  readonly about: string;
  /** How a node stands for it. */
  readonly standingOf: (view: NodeView, facts: CauseFacts) => Standing;
  /**
   * Who begins its retirements: a pass over all nodes, a search for commands, or the one who hears
   * a notice.
   */
  readonly begunBy: 'pass' | 'search' | 'notice';
  /** Whether it may concern a node that is going for another cause. Absent: it does not. */
  readonly concernsGoing?: boolean;
  /** The reason of the budgets that it asks. Absent: none, and its nodes count for the others. */
  readonly budget?: DisruptionReason;
  /** How many more nodes of each pool (`NodePool/default`) may go for it. Absent: no limit. */
  readonly pace?: (views: readonly NodeView[], nowMs: number) => ReadonlyMap<string, number>;
  /** Whether nodes whose pods need no other place come first (Karpenter's order). */
  readonly emptiestFirst?: boolean;
  /**
   * The things that may hold a node that is due, and take it back until it ends: `all` is its
   * annotation, its pods' and their budgets; `eventual` is the same without the pods of a claim
   * whose grace period ends their wait.
   */
  readonly blocks: 'all' | 'eventual' | 'none';
  /** Whether new pods are kept away from its beginning on, or once its pods have another place. */
  readonly taints: 'at-once' | 'with-room';
  /**
   * Whether its pods get another place first: `required`, or the node stays; `awaited` for a time;
   * or `ignored`, because it has none or no time.
   */
  readonly places: 'required' | 'awaited' | 'ignored';
  /** How long it waits for places once a solver has answered, and before. */
  readonly waits: Readonly<Record<'answered' | 'unanswered', keyof RetirementLimits>>;
  /** Whether a node that no solver answers for gives its turn to others. */
  readonly ifUnanswered: 'cancel' | 'go-on';
  /** Whether a solver that is asked for places may buy a node. */
  readonly mayBuy: boolean;
  /** Whether it leaves no time: it takes over from causes that wait, and nobody chose it. */
  readonly takesOver: boolean;
  /** Why it does not stand any more for a node that is being retired. Absent: it stands. */
  readonly over?: (view: NodeView) => DisruptionNote | undefined;
};

const replacementWaits = { answered: 'expiryWaitMs', unanswered: 'unansweredExpiryMs' } as const;

/**
 * The causes for which nodes are retired. A node that is due for several goes for the first that
 * lets it: certain ends come before those that need judgement (Karpenter's order, with expiry).
 */
export const causes: Readonly<Record<RetirementCause, Cause>> = {
  interrupted: {
    about: 'interruption',
    standingOf: () => ofNoConcern,
    begunBy: 'notice',
    blocks: 'none',
    taints: 'at-once',
    places: 'awaited',
    waits: { answered: 'expiryWaitMs', unanswered: 'expiryWaitMs' },
    ifUnanswered: 'go-on',
    mayBuy: true,
    takesOver: true,
  },
  unhealthy: {
    about: 'repair',
    standingOf: unhealthyStanding,
    begunBy: 'pass',
    concernsGoing: true,
    budget: 'Unhealthy',
    blocks: 'none',
    taints: 'at-once',
    places: 'required',
    waits: replacementWaits,
    ifUnanswered: 'cancel',
    mayBuy: true,
    takesOver: false,
  },
  expired: {
    about: 'expiry',
    standingOf: expiredStanding,
    begunBy: 'pass',
    pace: allowedExpiries,
    blocks: 'none',
    taints: 'with-room',
    places: 'awaited',
    waits: replacementWaits,
    ifUnanswered: 'cancel',
    mayBuy: true,
    takesOver: false,
  },
  empty: {
    about: 'emptiness',
    standingOf: emptyStanding,
    begunBy: 'pass',
    budget: 'Empty',
    blocks: 'all',
    taints: 'at-once',
    places: 'ignored',
    waits: replacementWaits,
    ifUnanswered: 'cancel',
    mayBuy: false,
    takesOver: false,
    over: emptinessOver,
  },
  drifted: {
    about: 'drift',
    standingOf: driftedStanding,
    begunBy: 'pass',
    budget: 'Drifted',
    emptiestFirst: true,
    blocks: 'eventual',
    taints: 'at-once',
    places: 'required',
    waits: replacementWaits,
    ifUnanswered: 'cancel',
    mayBuy: true,
    takesOver: false,
    over: driftOver,
  },
  underutilized: {
    about: 'consolidation',
    standingOf: underusedStanding,
    begunBy: 'search',
    budget: 'Underutilized',
    blocks: 'all',
    taints: 'at-once',
    places: 'required',
    waits: { answered: 'consolidationWaitMs', unanswered: 'consolidationWaitMs' },
    ifUnanswered: 'go-on',
    mayBuy: false,
    takesOver: false,
  },
};

/** An unhealthy node whose drain has no limit: it ends by force, as by Karpenter 1.14. */
const { budget: _budget, ...unlimited } = causes.unhealthy;
const byForce: Cause = { ...unlimited, places: 'ignored', takesOver: true };

/** The cause of a retirement, as this retirement follows it. */
export const causeOf = ({ cause, drainMs }: Pick<Retirement, 'cause' | 'drainMs'>): Cause =>
  cause === 'unhealthy' && drainMs === undefined ? byForce : causes[cause];
