import { type NodeClaim, type Pool, poolKey } from '@dovetail/core-api';
import { present } from '@dovetail/core-invariant';
import { compareText, isReschedulable, type Node, type Pod } from '@dovetail/core-kube-model';

import { allowedDisruptions, type BudgetAnswer } from '../budgets.js';
import { consolidatableMs } from '../consolidatable.js';
import { disruptionBlocks, type EligibilityOptions } from '../eligibility.js';
import { podsThatCount } from '../emptiness.js';
import { censusOf } from '../methods.js';
import { type DisruptionNote, note } from '../refusal.js';
import { isEnding, isInitialized, type NodeView } from '../view.js';
import { balancedScore, disruptionCostOf, isBalanced, poolTotalsOf, priceOf } from './costs.js';

/** A node that consolidation may give up, if its pods have another place. */
export type Candidate = {
  readonly view: NodeView & { readonly node: Node; readonly pool: Pool };
  /** The pods that would need another place. */
  readonly pods: readonly Pod[];
  /** 0 if the price is unknown. */
  readonly priceMicrosPerHour: number;
  readonly disruptionCost: number;
};

/** The nodes that consolidation looks at, and the others with their reasons. */
export type Candidates = {
  /** The best saving per disruption first, the pools in turn. All are within their budgets. */
  readonly candidates: readonly Candidate[];
  /** The same with those that their budgets hold back. */
  readonly beyondBudgets: readonly Candidate[];
  /** Nodes that stay whatever a solver would say, for Events. */
  readonly stays: readonly { readonly view: NodeView; readonly notes: readonly DisruptionNote[] }[];
  /** When the next node may be consolidated. Absent: no time is waited for. */
  readonly nextDueMs?: number;
  /** Pools whose budget holds back candidates. */
  readonly exhausted: readonly { readonly pool: Pool; readonly note: DisruptionNote }[];
  /** How many more under-used nodes of each pool (`NodePool/default`) may be disrupted. */
  readonly allowed: ReadonlyMap<string, number>;
};

/** Everything beside the nodes that finding candidates reads. */
export type CandidateOptions = EligibilityOptions & {
  /** UIDs of the claims that are looked at; the others only count for budgets. Absent: all. */
  readonly only?: ReadonlySet<string>;
  /** Whether a claim is left alone for a while. Absent: none is. */
  readonly pauses?: (claim: NodeClaim) => boolean;
};

type Verdict =
  | { readonly kind: 'candidate'; readonly candidate: Candidate }
  | { readonly kind: 'stays'; readonly notes: readonly DisruptionNote[] }
  | { readonly kind: 'later'; readonly dueMs: number }
  /** Not for consolidation: another method, or none, is responsible. */
  | { readonly kind: 'other' };

const other: Verdict = { kind: 'other' };

function verdictOn(view: NodeView, options: CandidateOptions): Verdict {
  const { node, pool, claim } = view;
  if (node === undefined || pool === undefined || isEnding(view) || !isInitialized(view))
    return other;
  if (pool.replicas !== undefined || podsThatCount(view.pods).length === 0) return other;
  if (options.pauses?.(claim) === true) return other;
  const disabled = disabledBy(pool);
  if (disabled !== undefined) return { kind: 'stays', notes: [disabled] };
  const dueMs = consolidatableMs(view);
  if (dueMs === undefined) return other;
  if (dueMs > options.nowMs) return { kind: 'later', dueMs };
  const notes = disruptionBlocks(view, options);
  if (notes.length > 0) return { kind: 'stays', notes };
  const pods = view.pods.filter(isReschedulable);
  const priceMicrosPerHour = priceOf(view);
  const disruptionCost = disruptionCostOf(pods);
  return {
    kind: 'candidate',
    candidate: { view: { ...view, node, pool }, pods, priceMicrosPerHour, disruptionCost },
  };
}

/** Why a pool consolidates none of its nodes with pods, in Karpenter's words. */
function disabledBy({ identity: { name }, disruption }: Pool): DisruptionNote | undefined {
  if (disruption.consolidateAfterMs === undefined)
    return note('disruption-disabled', `NodePool "${name}" has consolidation disabled`, {
      pool: name,
    });
  return disruption.policy === 'WhenEmpty'
    ? note('disruption-disabled', `NodePool "${name}" has non-empty consolidation disabled`, {
        pool: name,
        policy: disruption.policy,
      })
    : undefined;
}

/** Finds the nodes that consolidation may give up now. The order of the views does not count. */
export function consolidationCandidates(
  views: readonly NodeView[],
  options: CandidateOptions,
): Candidates {
  const steps = candidatesInSteps(views, options);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Does the same, and yields after each node: a large cluster takes longer than one turn may. */
export function* candidatesInSteps(
  views: readonly NodeView[],
  options: CandidateOptions,
): Generator<undefined, Candidates> {
  const candidates: Candidate[] = [];
  const stays: Candidates['stays'][number][] = [];
  let nextDueMs = Infinity;
  const { only } = options;
  const looked = only === undefined ? views : views.filter(({ claim }) => only.has(claim.uid));
  for (const view of looked.toSorted((a, b) => compareText(a.claim.name, b.claim.name))) {
    yield;
    const verdict = verdictOn(view, options);
    if (verdict.kind === 'candidate') candidates.push(verdict.candidate);
    if (verdict.kind === 'stays') stays.push({ view, notes: verdict.notes });
    if (verdict.kind === 'later') nextDueMs = Math.min(nextDueMs, verdict.dueMs);
  }
  const worthwhile = withoutUnbalanced(candidates, views, stays);
  const answers = allowances(views, options.nowMs);
  const allowed = new Map([...answers].map(([key, answer]) => [key, answer.allowed]));
  const inTurn = poolsInTurn(worthwhile.toSorted(bestFirst));
  return {
    candidates: withinBudgets(inTurn, allowed),
    beyondBudgets: inTurn,
    stays,
    exhausted: exhaustedBy(inTurn, answers),
    allowed,
    ...(Number.isFinite(nextDueMs) ? { nextDueMs } : {}),
  };
}

/** The most money per disruption first (Karpenter's SavingsRatio). */
export function bestFirst(a: Candidate, b: Candidate): number {
  const byRatio = b.priceMicrosPerHour / b.disruptionCost - a.priceMicrosPerHour / a.disruptionCost;
  return byRatio || compareText(a.view.claim.name, b.view.claim.name);
}

/** Leaves out what the policy Balanced would not do even if nothing had to be bought for it. */
function withoutUnbalanced(
  candidates: readonly Candidate[],
  views: readonly NodeView[],
  stays: Candidates['stays'][number][],
): readonly Candidate[] {
  const totals = poolTotalsOf(views);
  return candidates.filter(({ view, priceMicrosPerHour, disruptionCost }) => {
    if (view.pool.disruption.policy !== 'Balanced') return true;
    const total = present(totals.get(poolKey(view.pool.identity)), 'a candidate has its pool');
    const score = balancedScore({ savedMicrosPerHour: priceMicrosPerHour, disruptionCost }, total);
    if (isBalanced(score)) return true;
    const message = `its removal would save too little for its disruption: score ${score.toFixed(2)}, least 0.50`;
    stays.push({ view, notes: [note('not-worthwhile', message, { score: score.toFixed(2) })] });
    return false;
  });
}

/** Takes one node of each pool after the other, so that no pool waits for a large one. */
function poolsInTurn(candidates: readonly Candidate[]): readonly Candidate[] {
  const counts = new Map<string, number>();
  const ranked = candidates.map((candidate) => {
    const key = poolKey(candidate.view.pool.identity);
    const rank = counts.get(key) ?? 0;
    counts.set(key, rank + 1);
    return { candidate, rank };
  });
  return ranked.sort((a, b) => a.rank - b.rank).map(({ candidate }) => candidate);
}

function allowances(views: readonly NodeView[], nowMs: number): ReadonlyMap<string, BudgetAnswer> {
  const census = censusOf(views);
  const pools = new Map(
    views.flatMap(({ pool }) => (pool === undefined ? [] : [[poolKey(pool.identity), pool]])),
  );
  return new Map(
    [...pools].map(([key, { disruption }]) => {
      const counted = census.get(key) ?? { nodes: 0, disrupted: 0 };
      return [key, allowedDisruptions(disruption.budgets, 'Underutilized', counted, nowMs)];
    }),
  );
}

/** The candidates whose pool may lose a node now at all. */
const withinBudgets = (
  candidates: readonly Candidate[],
  allowed: ReadonlyMap<string, number>,
): readonly Candidate[] =>
  candidates.filter(({ view }) => (allowed.get(poolKey(view.pool.identity)) ?? 0) > 0);

/** The pools of candidates that no node may leave now, each with the budget that says so. */
function exhaustedBy(
  candidates: readonly Candidate[],
  answers: ReadonlyMap<string, BudgetAnswer>,
): Candidates['exhausted'] {
  const pools = new Map(candidates.map(({ view: { pool } }) => [poolKey(pool.identity), pool]));
  return [...pools].flatMap(([key, pool]) => {
    const { allowed = 0, note } = answers.get(key) ?? {};
    return allowed > 0 || note === undefined ? [] : [{ pool, note }];
  });
}
