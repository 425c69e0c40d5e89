import {
  type DisruptionReason,
  type NodeClaim,
  type Pool,
  poolKey,
  terminationFinalizer,
} from '@dovetail/core-api';
import { present } from '@dovetail/core-invariant';
import { compareText, isReschedulable, type Node } from '@dovetail/core-kube-model';

import { allowedDisruptions, type BudgetAnswer, type PoolCensus } from './budgets.js';
import { replaceableDrift } from './drift.js';
import { disruptionBlocks, type EligibilityOptions } from './eligibility.js';
import { emptinessOf } from './emptiness.js';
import { allowedExpiries, defaultExpiryLimits, type ExpiryLimits, expiryOf } from './expiry.js';
import { type DisruptionNote } from './refusal.js';
import type { RetirementCause } from './retirement-record.js';
import { isToldToEnd } from './termination.js';
import { isEnding, isInitialized, type NodeView } from './view.js';

/**
 * The methods of the decision loop, in their order: certain ends before those that need judgement.
 * Interruptions and under-used nodes are no methods, because they have loops of their own.
 */
export const disruptionMethods = [
  'expired',
  'empty',
  'drifted',
] as const satisfies readonly RetirementCause[];
/** One of the methods of the decision loop. */
type DisruptionMethod = (typeof disruptionMethods)[number];

/** A node to retire now, and the reason. */
type RetirementStart = {
  readonly view: NodeView;
  readonly cause: DisruptionMethod;
  readonly note: DisruptionNote;
  /** The reason of the drift. */
  readonly detail?: string;
};

/** The reasons of the budgets that this loop asks. */
type BudgetedReason = Extract<DisruptionReason, 'Empty' | 'Drifted'>;

/** The result of one pass of the decision loop. */
export type PassDecision = {
  readonly retire: readonly RetirementStart[];
  /** Nodes that may not be disrupted now, with every reason, for Events. */
  readonly blocked: readonly {
    readonly view: NodeView;
    readonly notes: readonly DisruptionNote[];
  }[];
  /** Pools whose budget held back nodes that were due. */
  readonly exhausted: readonly { readonly pool: Pool; readonly note: DisruptionNote }[];
  /**
   * Claims whose node was seen empty for the first time. The mark is written before the countdown
   * begins.
   */
  readonly mark: readonly NodeClaim[];
  /** Claims whose node is no longer empty. */
  readonly unmark: readonly NodeClaim[];
  /** When the next node becomes due if nothing changes. Absent: no countdown runs. */
  readonly nextDueMs?: number;
  /**
   * Drifted nodes that may go as soon as it is known that their pods have another place. They use
   * up their budget already, the next of them first.
   */
  readonly toJudge: readonly NodeView[];
  /** How many more nodes of each pool (`NodePool/default`) may be disrupted, by reason. */
  readonly allowed: Readonly<Record<BudgetedReason, ReadonlyMap<string, number>>>;
  readonly eligible: Readonly<Record<DisruptionMethod, number>>;
};

/**
 * Counts each pool's nodes as budgets do: initialised ones whose instance is not ending yet, or
 * whose Node is kept by finalizers of others. Nodes
 * that are NotReady or retiring use up the budget (Karpenter's BuildDisruptionBudgetMapping). For
 * the reason Unhealthy those that are NotReady do not: they are the ones to be repaired.
 */
export function censusOf(
  views: readonly NodeView[],
  reason?: DisruptionReason,
): ReadonlyMap<string, PoolCensus> {
  const census = new Map<string, PoolCensus>();
  for (const view of views) {
    if (view.pool === undefined || view.node === undefined || !isInitialized(view)) continue;
    if (isToldToEnd(view.claim) && !isKeptByOthers(view.node)) continue;
    const key = poolKey(view.pool.identity);
    const counted = census.get(key) ?? { nodes: 0, disrupted: 0 };
    const disrupted = isEnding(view) || (!view.node.ready && reason !== 'Unhealthy');
    census.set(key, {
      nodes: counted.nodes + 1,
      disrupted: counted.disrupted + (disrupted ? 1 : 0),
    });
  }
  return census;
}

/** Whether the Node object stays after its instance and our finalizer are gone. */
const isKeptByOthers = ({ finalizers }: Node): boolean =>
  finalizers.some((name) => name !== terminationFinalizer);

const budgetOf = (
  pool: Pool,
  reason: DisruptionReason,
  census: ReadonlyMap<string, PoolCensus>,
  nowMs: number,
): BudgetAnswer =>
  allowedDisruptions(
    pool.disruption.budgets,
    reason,
    census.get(poolKey(pool.identity)) ?? { nodes: 0, disrupted: 0 },
    nowMs,
  );

/** Everything beside the nodes that a pass reads. */
export type PassOptions = EligibilityOptions & {
  /** Absent: the default. */
  readonly expiryLimits?: ExpiryLimits;
  /**
   * Whether a claim pauses after a retirement that was given up. It takes nothing from its pool's
   * budget, nor from the nodes that may expire at a time. Absent: none does.
   */
  readonly pauses?: (claim: NodeClaim) => boolean;
  /**
   * Whether the pods of a drifted node have another place, as a solver said a moment ago.
   * Undefined: it is not known. Absent: of no node.
   */
  readonly canMove?: (claim: NodeClaim) => boolean | undefined;
  /**
   * False while the PodDisruptionBudgets are not known: then only expired nodes go, whose end does
   * not ask them. Absent: they are known.
   */
  readonly areBudgetsKnown?: boolean;
};

type Due = { readonly start: RetirementStart; readonly sinceMs: number };
const longestFirst = (a: Due, b: Due): number =>
  a.sinceMs - b.sinceMs || compareText(a.start.view.claim.name, b.start.view.claim.name);

const hasMovingPods = ({ start }: Due): boolean => start.view.pods.some(isReschedulable);
/** Nodes whose pods need no other place come first (Karpenter's order). */
const emptiestFirst = (a: Due, b: Due): number =>
  Number(hasMovingPods(a)) - Number(hasMovingPods(b)) || longestFirst(a, b);

/** Gathers one pass. Invariant: every view is added once. */
class Pass {
  readonly #options: PassOptions;
  readonly expired: Due[] = [];
  readonly empty: Due[] = [];
  readonly drifted: Due[] = [];
  readonly blocked: { view: NodeView; notes: readonly DisruptionNote[] }[] = [];
  readonly mark: NodeClaim[] = [];
  readonly unmark: NodeClaim[] = [];
  nextDueMs = Infinity;

  constructor(options: PassOptions) {
    this.#options = options;
  }

  add(view: NodeView): void {
    if (isEnding(view)) return;
    const expiry = expiryOf(view, this.#options.nowMs);
    if (expiry.kind === 'due') {
      if (this.#options.pauses?.(view.claim) === true) return;
      this.expired.push({
        start: { view, cause: 'expired', note: expiry.note },
        sinceMs: expiry.dueMs,
      });
      return;
    }
    if (expiry.kind === 'later') this.nextDueMs = Math.min(this.nextDueMs, expiry.dueMs);
    if (this.#options.areBudgetsKnown === false) return;
    if (view.node === undefined || !isInitialized(view)) this.#blocksOf(view);
    else if (!this.#addEmptiness(view)) this.#addDrift(view);
  }

  /** Answers whether the node is due, or was told to be blocked. */
  #addEmptiness(view: NodeView): boolean {
    const emptiness = emptinessOf(view, this.#options.nowMs);
    switch (emptiness.kind) {
      case 'occupied':
        if (emptiness.unmark) this.unmark.push(view.claim);
        return false;
      case 'disabled':
        return false;
      case 'mark':
        this.mark.push(view.claim);
        return false;
      case 'counting':
        this.nextDueMs = Math.min(this.nextDueMs, emptiness.dueMs);
        return false;
      case 'due':
        if (this.#options.pauses?.(view.claim) !== true && this.#blocksOf(view).length === 0)
          this.empty.push({
            start: { view, cause: 'empty', note: emptiness.note },
            sinceMs: emptiness.sinceMs,
          });
        return true;
    }
  }

  #addDrift(view: NodeView): void {
    const drift = replaceableDrift(view);
    if (drift === undefined || this.#options.pauses?.(view.claim) === true) return;
    if (this.#blocksOf(view, { isEventual: true }).length > 0) return;
    const { sinceMs, note, detail } = drift;
    this.drifted.push({ start: { view, cause: 'drifted', note, detail }, sinceMs });
  }

  /** The causes that block a node which would go. Nodes that stay anyway are not asked about. */
  #blocksOf(
    view: NodeView,
    more: Pick<EligibilityOptions, 'isEventual'> = {},
  ): readonly DisruptionNote[] {
    const notes = disruptionBlocks(view, { ...this.#options, ...more });
    if (notes.length > 0) this.blocked.push({ view, notes });
    return notes;
  }
}

/**
 * Decides one pass over all nodes. Expired nodes come first and ask no budgets; so many of a pool
 * are replaced at once, the longest expired first. Then come empty ones, as far as their pool's
 * budgets allow, the longest empty first. Drifted ones are last: a node that goes before them uses
 * up its pool's budget for them. The order of the views does not count.
 */
export function decidePass(views: readonly NodeView[], options: PassOptions): PassDecision {
  const pass = new Pass(options);
  for (const view of views.toSorted((a, b) => compareText(a.claim.name, b.claim.name)))
    pass.add(view);
  const expired = paced(views, pass.expired.sort(longestFirst), options);
  const going = new Set(expired.map(({ view }) => view));
  const within = (due: readonly Due[], reason: BudgetedReason): WithinBudgets => {
    const found = withinBudgets(due, { reason, views, going, nowMs: options.nowMs });
    for (const { view } of found.starts) going.add(view);
    return found;
  };
  const empty = within(pass.empty.sort(longestFirst), 'Empty');
  const drifted = within(movable(pass.drifted, options).sort(emptiestFirst), 'Drifted');
  const isKnown = ({ view }: RetirementStart): boolean =>
    !view.pods.some(isReschedulable) || options.canMove?.(view.claim) === true;
  return {
    retire: [...expired, ...empty.starts, ...drifted.starts.filter(isKnown)],
    toJudge: drifted.starts.filter((start) => !isKnown(start)).map(({ view }) => view),
    blocked: pass.blocked,
    exhausted: [...empty.exhausted, ...drifted.exhausted],
    mark: pass.mark,
    unmark: pass.unmark,
    allowed: { Empty: empty.allowed, Drifted: drifted.allowed },
    eligible: {
      expired: pass.expired.length,
      empty: pass.empty.length,
      drifted: pass.drifted.length,
    },
    ...(Number.isFinite(pass.nextDueMs) ? { nextDueMs: pass.nextDueMs } : {}),
  };
}

/** The drifted nodes without those whose pods have no other place now: others have their turn. */
const movable = (due: readonly Due[], { canMove }: PassOptions): Due[] =>
  due.filter((one) => !hasMovingPods(one) || canMove?.(one.start.view.claim) !== false);

type WithinBudgets = Pick<PassDecision, 'exhausted'> & {
  readonly starts: readonly RetirementStart[];
  readonly allowed: ReadonlyMap<string, number>;
};

/** The nodes that their pools' budgets let go now, beside those that are going already. */
function withinBudgets(
  due: readonly Due[],
  options: {
    readonly reason: BudgetedReason;
    readonly views: readonly NodeView[];
    readonly going: ReadonlySet<NodeView>;
    readonly nowMs: number;
  },
): WithinBudgets {
  const answers = budgetAnswers(options);
  const allowed = new Map([...answers].map(([key, answer]) => [key, answer.allowed]));
  const left = new Map(allowed);
  const exhausted = new Map<string, { pool: Pool; note: DisruptionNote }>();
  const starts = due
    .map(({ start }) => start)
    .filter(({ view: { pool } }) => {
      if (pool === undefined) return false;
      const key = poolKey(pool.identity);
      const remaining = present(left.get(key), 'every pool of a view has an allowance');
      left.set(key, remaining - 1);
      const held = remaining > 0 ? undefined : answers.get(key)?.note;
      if (held !== undefined) exhausted.set(key, { pool, note: held });
      return remaining > 0;
    });
  return { starts, allowed, exhausted: [...exhausted.values()] };
}

/** Asks the budgets of each pool how many nodes may go for a reason. */
function budgetAnswers({
  reason,
  views,
  going,
  nowMs,
}: Parameters<typeof withinBudgets>[1]): ReadonlyMap<string, BudgetAnswer> {
  const census = censusOf(views.map((view) => (going.has(view) ? asRetiring(view, nowMs) : view)));
  const answers = new Map<string, BudgetAnswer>();
  for (const { pool } of views) {
    const key = pool === undefined ? undefined : poolKey(pool.identity);
    if (pool !== undefined && key !== undefined && !answers.has(key))
      answers.set(key, budgetOf(pool, reason, census, nowMs));
  }
  return answers;
}

/** The expired nodes that may be replaced now, the longest expired first. */
function paced(
  views: readonly NodeView[],
  due: readonly Due[],
  { nowMs, expiryLimits = defaultExpiryLimits }: PassOptions,
): readonly RetirementStart[] {
  const left = new Map(allowedExpiries(views, nowMs, expiryLimits));
  return due
    .map(({ start }) => start)
    .filter(({ view: { claim } }) => {
      const key = poolKey(claim.pool);
      const remaining = present(left.get(key), 'every pool of a claim has an allowance');
      left.set(key, remaining - 1);
      return remaining > 0;
    });
}

/** The view as it will be once its retirement has begun, for counting. */
const asRetiring = (view: NodeView, nowMs: number): NodeView => ({
  ...view,
  claim: { ...view.claim, deletionMs: nowMs },
});
