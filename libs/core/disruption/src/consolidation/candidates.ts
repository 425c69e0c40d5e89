import { type NodeClaim, type Pool, poolKey } from '@dovetail/core-api';
import { present } from '@dovetail/core-invariant';
import { compareText, isReschedulable, type Node, type Pod } from '@dovetail/core-kube-model';

import type { CauseFacts } from '../causes/standing.js';
import { underusedStanding } from '../causes/under-used.js';
import { type DisruptionNote, note } from '../facts/refusal.js';
import { isEnding, isInitialized, type NodeView } from '../facts/view.js';
import { BudgetAccount, type ExhaustedPool } from '../rules/account.js';
import {
  balancedScore,
  disruptionCostOf,
  isBalanced,
  type PoolTotals,
  poolTotalsOf,
  priceOf,
} from '../rules/costs.js';
import { moveCostOf } from '../rules/move-cost.js';

/** A node that consolidation may give up, if its pods have another place. */
export type Candidate = {
  readonly view: NodeView & { readonly node: Node; readonly pool: Pool };
  /** The pods that would need another place. */
  readonly pods: readonly Pod[];
  /** 0 if the price is unknown. */
  readonly priceMicrosPerHour: number;
  readonly disruptionCost: number;
  /** The cost of moving all of its pods, in moves of an ordinary one. */
  readonly moveCost: number;
  /**
   * Why it does not go alone: the policy Balanced would not let it, even if nothing had to be
   * bought. It may go with others that save more. Absent: it may go alone.
   */
  readonly notAlone?: DisruptionNote;
};

/** The nodes that consolidation looks at, and the others with their reasons. */
export type Candidates = {
  /** The best saving per disruption first, the pools in turn. All are within their budgets. */
  readonly candidates: readonly Candidate[];
  /** The same with those that their budgets hold back. */
  readonly beyondBudgets: readonly Candidate[];
  /** Nodes that stay whatever a solver would say, or would not go alone, for Events. */
  readonly stays: readonly { readonly view: NodeView; readonly notes: readonly DisruptionNote[] }[];
  /** When the next node may be consolidated. Absent: no time is waited for. */
  readonly nextDueMs?: number;
  /** Pools whose budget holds back candidates. */
  readonly exhausted: readonly ExhaustedPool[];
  /** How many more under-used nodes of each pool (`NodePool/default`) may be disrupted. */
  readonly allowed: ReadonlyMap<string, number>;
  /** The totals of each pool, by which its policy Balanced scores commands. */
  readonly totals: ReadonlyMap<string, PoolTotals>;
};

/** Everything beside the nodes that finding candidates reads. */
export type CandidateOptions = CauseFacts & {
  /** UIDs of the claims that are looked at; the others only count for budgets. Absent: all. */
  readonly only?: ReadonlySet<string>;
  /**
   * Until when a claim is left alone, in milliseconds since 1970; undefined: it is not. A time that
   * has passed counts as none. Absent: none is left alone.
   */
  readonly pausedUntilMs?: (claim: NodeClaim) => number | undefined;
};

/** The node as a candidate. Without node or pool, or of a node that takes no part: none. */
function candidateOf(view: NodeView, nowMs: number): Candidate | undefined {
  const { node, pool } = view;
  if (node === undefined || pool === undefined) return undefined;
  const pods = view.pods.filter(isReschedulable);
  return {
    view: { ...view, node, pool },
    pods,
    priceMicrosPerHour: priceOf(view),
    disruptionCost: disruptionCostOf(pods),
    moveCost: pods.reduce((sum, pod) => sum + moveCostOf(pod, nowMs), 0),
  };
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
  const looked = views.filter(({ claim }) => options.only?.has(claim.uid) ?? true);
  for (const view of looked.toSorted((a, b) => compareText(a.claim.name, b.claim.name))) {
    yield;
    if (isEnding(view) || !isInitialized(view)) continue;
    const pausedUntilMs = options.pausedUntilMs?.(view.claim) ?? -Infinity;
    if (pausedUntilMs > options.nowMs) {
      nextDueMs = Math.min(nextDueMs, pausedUntilMs);
      continue;
    }
    const standing = underusedStanding(view, options);
    if (standing.kind === 'later' && standing.dueMs !== undefined)
      nextDueMs = Math.min(nextDueMs, standing.dueMs);
    const notes = standing.kind === 'due' ? standing.held : standing.notes;
    if (standing.kind !== 'later' && notes.length > 0) stays.push({ view, notes });
    const candidate =
      standing.kind === 'due' && notes.length === 0 ? candidateOf(view, options.nowMs) : undefined;
    if (candidate !== undefined) candidates.push(candidate);
  }
  const totals = poolTotalsOf(views);
  const judged = candidates.map((candidate) => withBalance(candidate, totals));
  const account = new BudgetAccount(views, options.nowMs);
  const allowed = account.allowed('Underutilized');
  const inTurn = poolsInTurn(judged.toSorted(bestFirst));
  return {
    candidates: withinBudgets(inTurn, allowed),
    beyondBudgets: inTurn,
    stays: [...stays, ...judged.flatMap(notAloneNote)],
    exhausted: exhaustedBy(inTurn, account),
    allowed,
    totals,
    ...(Number.isFinite(nextDueMs) ? { nextDueMs } : {}),
  };
}

/** The most money per disruption first (Karpenter's SavingsRatio). */
export function bestFirst(a: Candidate, b: Candidate): number {
  const byRatio = b.priceMicrosPerHour / b.disruptionCost - a.priceMicrosPerHour / a.disruptionCost;
  return byRatio || compareText(a.view.claim.name, b.view.claim.name);
}

const notAloneNote = ({ view, notAlone }: Candidate): Candidates['stays'] =>
  notAlone === undefined ? [] : [{ view, notes: [notAlone] }];

/** The candidate, with the reason for which the policy Balanced would not let it go alone. */
function withBalance(candidate: Candidate, totals: ReadonlyMap<string, PoolTotals>): Candidate {
  const notAlone = imbalanceAlone(candidate, totals);
  return notAlone === undefined ? candidate : { ...candidate, notAlone };
}

/** Why the policy Balanced keeps a node even if nothing had to be bought for its pods. */
function imbalanceAlone(
  {
    view,
    priceMicrosPerHour,
    disruptionCost,
  }: Pick<Candidate, 'view' | 'priceMicrosPerHour' | 'disruptionCost'>,
  totals: ReadonlyMap<string, PoolTotals>,
): DisruptionNote | undefined {
  if (view.pool.disruption.policy !== 'Balanced') return undefined;
  const total = present(totals.get(poolKey(view.pool.identity)), 'a candidate has its pool');
  const score = balancedScore({ savedMicrosPerHour: priceMicrosPerHour, disruptionCost }, total);
  if (isBalanced(score)) return undefined;
  const message = `its removal would save too little for its disruption: score ${score.toFixed(2)}, least 0.50`;
  return note('not-worthwhile', message, { score: score.toFixed(2) });
}

/** Why the policy of its pool keeps a node, whatever a solver would say; undefined: it does not. */
export function notWorthwhile(
  view: NodeView,
  views: readonly NodeView[],
): DisruptionNote | undefined {
  const { node, pool } = view;
  if (node === undefined || pool?.disruption.policy !== 'Balanced') return undefined;
  const costs = {
    priceMicrosPerHour: priceOf(view),
    disruptionCost: disruptionCostOf(view.pods.filter(isReschedulable)),
  };
  return imbalanceAlone({ view: { ...view, node, pool }, ...costs }, poolTotalsOf(views));
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

/** The candidates whose pool may lose a node now at all. */
const withinBudgets = (
  candidates: readonly Candidate[],
  allowed: ReadonlyMap<string, number>,
): readonly Candidate[] =>
  candidates.filter(({ view }) => (allowed.get(poolKey(view.pool.identity)) ?? 0) > 0);

/** The pools of candidates that no node may leave now, each with the budget that says so. */
function exhaustedBy(
  candidates: readonly Candidate[],
  account: BudgetAccount,
): readonly ExhaustedPool[] {
  const byPool = new Map(candidates.map(({ view }) => [poolKey(view.pool.identity), view]));
  return [...byPool.values()].flatMap((view) => {
    const { allowed, note: why } = account.answer(view, 'Underutilized');
    return allowed > 0 || why === undefined ? [] : [{ pool: view.pool, note: why }];
  });
}
