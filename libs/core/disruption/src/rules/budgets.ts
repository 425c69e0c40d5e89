import {
  type DisruptionBudget,
  type DisruptionReason,
  isWindowOpen,
  parseCron,
} from '@dovetail/core-api';
import { assert } from '@dovetail/core-invariant';

import { type DisruptionNote, note } from '../facts/refusal.js';

/** The nodes that a pool's budgets are counted on. Invariant: 0 <= disrupted <= nodes. */
export type PoolCensus = {
  /** The pool's initialised nodes, without those whose instance is already being terminated. */
  readonly nodes: number;
  /** Of those: not Ready, being deleted, or being retired. */
  readonly disrupted: number;
};

/**
 * How many more nodes may be disrupted now, and the budget that limits them. Invariant: allowed >=
 * 0.
 */
export type BudgetAnswer = { readonly allowed: number; readonly note?: DisruptionNote };

type Active =
  | { readonly kind: 'active' }
  | { readonly kind: 'inactive' }
  | { readonly kind: 'invalid'; readonly remedy: string };

function activity(budget: DisruptionBudget, nowMs: number): Active {
  if (budget.problem !== undefined) return { kind: 'invalid', remedy: budget.problem };
  if (budget.schedule === undefined) return { kind: 'active' };
  const schedule = parseCron(budget.schedule.cron);
  if (!schedule.ok) return { kind: 'invalid', remedy: schedule.remedy };
  return {
    kind: isWindowOpen(schedule.value, { durationMs: budget.schedule.durationMs, nowMs })
      ? 'active'
      : 'inactive',
  };
}

const budgetText = (budget: DisruptionBudget): string =>
  'percent' in budget.nodes ? `${String(budget.nodes.percent)}%` : String(budget.nodes.count);
/** A percentage rounds up, so that a small pool is not frozen (Karpenter's rule). */
const shareOf = (budget: DisruptionBudget, nodes: number): number =>
  'percent' in budget.nodes ? Math.ceil((nodes * budget.nodes.percent) / 100) : budget.nodes.count;

/**
 * The number of nodes of a pool that may be disrupted for a reason now. It is the least over all
 * budgets that apply, less the nodes that are disrupted already. A budget applies if it names the
 * reason or none, and its window is open. A budget that cannot be read allows none, with a note
 * that names it. Without a budget that applies, all undisrupted nodes may go.
 */
export function allowedDisruptions(
  budgets: readonly DisruptionBudget[],
  reason: DisruptionReason,
  census: PoolCensus,
  nowMs: number,
): BudgetAnswer {
  assert(census.disrupted <= census.nodes, 'the disrupted nodes of a pool are among its nodes');
  let least: BudgetAnswer = { allowed: census.nodes - census.disrupted };
  for (const budget of budgets) {
    if (budget.reasons !== undefined && !budget.reasons.includes(reason)) continue;
    const active = activity(budget, nowMs);
    if (active.kind === 'inactive') continue;
    const values = { budget: budgetText(budget), reason, ...census };
    if (active.kind === 'invalid') return unreadable(active.remedy, values);
    const allowed = Math.max(0, shareOf(budget, census.nodes) - census.disrupted);
    if (allowed < least.allowed || (allowed === least.allowed && least.note === undefined))
      least = { allowed, note: spent(reason, values) };
  }
  return least;
}

type NoteValues = Readonly<Record<string, string | number>>;

/** A budget that cannot be read allows nothing: guessing could end too many nodes. */
const unreadable = (remedy: string, values: NoteValues): BudgetAnswer => ({
  allowed: 0,
  note: note(
    'budget-invalid',
    `a disruption budget cannot be read, so nothing is disrupted: ${remedy}`,
    values,
  ),
});

/** The note of the budget that limits a pool, in Karpenter's words. */
const spent = (reason: DisruptionReason, values: NoteValues): DisruptionNote =>
  note(
    'budget-spent',
    `No allowed disruptions for disruption reason ${reason} due to blocking budget`,
    values,
  );
