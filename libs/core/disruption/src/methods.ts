import { type DisruptionReason, type NodeClaim, type Pool, poolKey } from '@dovetail/core-api';
import { present } from '@dovetail/core-invariant';
import { compareText } from '@dovetail/core-kube-model';

import { allowedDisruptions, type BudgetAnswer, type PoolCensus } from './budgets.js';
import { disruptionBlocks, type EligibilityOptions } from './eligibility.js';
import { emptinessOf } from './emptiness.js';
import { allowedExpiries, defaultExpiryLimits, type ExpiryLimits, expiryOf } from './expiry.js';
import { type DisruptionNote } from './refusal.js';
import type { RetirementCause } from './retirement-record.js';
import { isEnding, isInitialized, type NodeView } from './view.js';

/**
 * The methods of the decision loop, in their order: certain ends before those that need judgement.
 * Drifted and under-used nodes will follow `empty`; they need replacements and are not built yet.
 * Interruptions are no method, because they have a loop of their own and wait for nothing.
 */
export const disruptionMethods = ['expired', 'empty'] as const satisfies readonly RetirementCause[];
/** One of the methods of the decision loop. */
type DisruptionMethod = (typeof disruptionMethods)[number];

/** A node to retire now, and the reason. */
type RetirementStart = {
  readonly view: NodeView;
  readonly cause: DisruptionMethod;
  readonly note: DisruptionNote;
};

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
  /** How many more empty nodes of each pool (`NodePool/default`) may be disrupted. */
  readonly allowed: ReadonlyMap<string, number>;
  readonly eligible: Readonly<Record<DisruptionMethod, number>>;
};

/**
 * Counts each pool's nodes as budgets do: initialised ones whose instance is not ending yet. Nodes
 * that are NotReady or retiring use up the budget (Karpenter's BuildDisruptionBudgetMapping).
 */
export function censusOf(views: readonly NodeView[]): ReadonlyMap<string, PoolCensus> {
  const census = new Map<string, PoolCensus>();
  for (const view of views) {
    if (view.pool === undefined || view.node === undefined || !isInitialized(view)) continue;
    if (
      view.claim.conditions.some(
        ({ type, status }) => type === 'InstanceTerminating' && status === 'True',
      )
    )
      continue;
    const key = poolKey(view.pool.identity);
    const counted = census.get(key) ?? { nodes: 0, disrupted: 0 };
    const disrupted = isEnding(view) || !view.node.ready;
    census.set(key, {
      nodes: counted.nodes + 1,
      disrupted: counted.disrupted + (disrupted ? 1 : 0),
    });
  }
  return census;
}

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
};

type Due = { readonly start: RetirementStart; readonly sinceMs: number };
const longestFirst = (a: Due, b: Due): number =>
  a.sinceMs - b.sinceMs || compareText(a.start.view.claim.name, b.start.view.claim.name);

/** Gathers one pass. Invariant: every view is added once. */
class Pass {
  readonly #options: PassOptions;
  readonly expired: Due[] = [];
  readonly empty: Due[] = [];
  readonly blocked: { view: NodeView; notes: readonly DisruptionNote[] }[] = [];
  readonly mark: NodeClaim[] = [];
  readonly unmark: NodeClaim[] = [];
  nextDueMs = Infinity;

  constructor(options: PassOptions) {
    this.#options = options;
  }

  add(view: NodeView): void {
    if (isEnding(view)) return;
    const expiry = expiryOf(view.claim, this.#options.nowMs);
    if (expiry.kind === 'due') {
      if (this.#options.pauses?.(view.claim) === true) return;
      this.expired.push({
        start: { view, cause: 'expired', note: expiry.note },
        sinceMs: expiry.dueMs,
      });
      return;
    }
    if (expiry.kind === 'later') this.nextDueMs = Math.min(this.nextDueMs, expiry.dueMs);
    this.#addEmptiness(view);
  }

  #addEmptiness(view: NodeView): void {
    if (view.node === undefined || !isInitialized(view)) {
      this.#blocksOf(view);
      return;
    }
    const emptiness = emptinessOf(view, this.#options.nowMs);
    switch (emptiness.kind) {
      case 'occupied':
        if (emptiness.unmark) this.unmark.push(view.claim);
        return;
      case 'disabled':
        return;
      case 'mark':
        this.mark.push(view.claim);
        return;
      case 'counting':
        this.nextDueMs = Math.min(this.nextDueMs, emptiness.dueMs);
        return;
      case 'due':
        if (this.#options.pauses?.(view.claim) !== true && this.#blocksOf(view).length === 0)
          this.empty.push({
            start: { view, cause: 'empty', note: emptiness.note },
            sinceMs: emptiness.sinceMs,
          });
        return;
    }
  }

  /** The causes that block a node which would go. Nodes that stay anyway are not asked about. */
  #blocksOf(view: NodeView): readonly DisruptionNote[] {
    const notes = disruptionBlocks(view, this.#options);
    if (notes.length > 0) this.blocked.push({ view, notes });
    return notes;
  }
}

/**
 * Decides one pass over all nodes. Expired nodes come first and ask no budgets; so many of a pool
 * are replaced at once, the longest expired first. Then come empty
 * ones, as far as their pool's budgets allow, the longest empty first. A node that expires now uses
 * up its pool's budget for the others. The order of the views does not count.
 */
export function decidePass(views: readonly NodeView[], options: PassOptions): PassDecision {
  const pass = new Pass(options);
  for (const view of views.toSorted((a, b) => compareText(a.claim.name, b.claim.name)))
    pass.add(view);
  const expired = paced(views, pass.expired.sort(longestFirst), options);
  const expiring = new Set(expired.map(({ view }) => view));
  const census = censusOf(
    views.map((view) => (expiring.has(view) ? asRetiring(view, options.nowMs) : view)),
  );
  const answers = emptyBudgets(views, census, options.nowMs);
  const exhausted = new Map<string, { pool: Pool; note: DisruptionNote }>();
  const allowed = new Map([...answers].map(([key, answer]) => [key, answer.allowed]));
  const left = new Map(allowed);
  const empty = pass.empty
    .sort(longestFirst)
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
  return {
    retire: [...expired, ...empty],
    blocked: pass.blocked,
    exhausted: [...exhausted.values()],
    mark: pass.mark,
    unmark: pass.unmark,
    allowed,
    eligible: { expired: pass.expired.length, empty: pass.empty.length },
    ...(Number.isFinite(pass.nextDueMs) ? { nextDueMs: pass.nextDueMs } : {}),
  };
}

/** Asks the budgets of each pool how many empty nodes may go. */
function emptyBudgets(
  views: readonly NodeView[],
  census: ReadonlyMap<string, PoolCensus>,
  nowMs: number,
): ReadonlyMap<string, BudgetAnswer> {
  const answers = new Map<string, BudgetAnswer>();
  for (const { pool } of views) {
    const key = pool === undefined ? undefined : poolKey(pool.identity);
    if (pool !== undefined && key !== undefined && !answers.has(key))
      answers.set(key, budgetOf(pool, 'Empty', census, nowMs));
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
