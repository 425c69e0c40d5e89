import type { DisruptionBudget, DisruptionReason } from '@dovetail/core-api';
import { isWindowOpen, parseCron } from './cron.js';
import { note, type DisruptionNote } from './refusal.js';

/** What counts against a pool's budgets. */
export type PoolCensus = {
  /** The pool's initialised nodes, without those whose instance is already being terminated. */
  readonly nodes: number;
  /** Of those: not Ready, being deleted, or being retired. */
  readonly disrupted: number;
};

/** How many more nodes may be disrupted now, and the budget that says so. */
export type BudgetAnswer = { readonly allowed: number; readonly note?: DisruptionNote };

type Active = { readonly kind: 'active' } | { readonly kind: 'inactive' } | { readonly kind: 'invalid'; readonly remedy: string };

function activity(budget: DisruptionBudget, nowMs: number): Active {
  if (budget.schedule === undefined) return { kind: 'active' };
  const schedule = parseCron(budget.schedule.cron);
  if (!schedule.ok) return { kind: 'invalid', remedy: schedule.remedy };
  return { kind: isWindowOpen(schedule.value, { durationMs: budget.schedule.durationMs, nowMs }) ? 'active' : 'inactive' };
}

const textOf = (budget: DisruptionBudget): string => ('percent' in budget.nodes ? `${String(budget.nodes.percent)}%` : String(budget.nodes.count));
/** A percentage rounds up, so that a small pool is not frozen for ever (Karpenter's rule). */
const shareOf = (budget: DisruptionBudget, nodes: number): number =>
  'percent' in budget.nodes ? Math.ceil((nodes * budget.nodes.percent) / 100) : budget.nodes.count;

/**
 * The number of nodes of a pool that may be disrupted for a reason now: the least over all budgets that name the reason (or
 * none) and whose window is open, less the nodes that are disrupted already. A schedule that cannot be read allows none, with a
 * note that says which. Without any budget that applies there is no bound.
 */
export function allowedDisruptions(budgets: readonly DisruptionBudget[], reason: DisruptionReason, census: PoolCensus, nowMs: number): BudgetAnswer {
  let least: BudgetAnswer = { allowed: Math.max(0, census.nodes - census.disrupted) };
  for (const budget of budgets) {
    if (budget.reasons !== undefined && !budget.reasons.includes(reason)) continue;
    const active = activity(budget, nowMs);
    const values = { budget: textOf(budget), reason, nodes: census.nodes, disrupted: census.disrupted };
    if (active.kind === 'invalid') return { allowed: 0, note: note('budget-invalid', `a disruption budget's schedule cannot be read, so nothing is disrupted: ${active.remedy}`, values) };
    if (active.kind === 'inactive') continue;
    const allowed = Math.max(0, shareOf(budget, census.nodes) - census.disrupted);
    if (allowed < least.allowed || (allowed === least.allowed && least.note === undefined)) {
      least = { allowed, note: note('budget-spent', `No allowed disruptions for disruption reason ${reason} due to blocking budget`, values) };
    }
  }
  return least;
}
