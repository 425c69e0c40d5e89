import { budgetProblemsOf, type Condition, type Pool, poolKey } from '@dovetail/core-api';
import type { Log } from '@dovetail/core-ports';
import {
  aboutPool,
  conditionOf,
  type EventRecorder,
  type NewCondition,
} from '@dovetail/service-kit';

/** The condition of a NodePool that says whether its disruption budgets could be read. */
const budgetsType = 'DisruptionBudgetsValid';

/**
 * The condition about the pool's budgets. It is no part of Ready: a budget that cannot be read
 * allows no disruption and costs no launch. A pool that never had such a budget does not get it.
 */
export function budgetsCondition(pool: Pool, held: readonly Condition[]): readonly NewCondition[] {
  const problems = budgetProblemsOf(pool);
  if (problems !== '') {
    const message = `no node is disrupted: ${problems}`;
    return [{ type: budgetsType, status: 'False', reason: 'BudgetInvalid', message }];
  }
  if (conditionOf(held, budgetsType) === undefined) return [];
  return [{ type: budgetsType, status: 'True', reason: budgetsType }];
}

/** Tells of budgets that cannot be read: once for each text, in the log and as an Event. */
export class BudgetProblems {
  readonly #deps: { readonly log: Log; readonly events: EventRecorder };
  readonly #told = new Map<string, string>();

  constructor(deps: { readonly log: Log; readonly events: EventRecorder }) {
    this.#deps = deps;
  }

  /** Tells what is new about this pool's budgets. */
  tell(pool: Pool): void {
    const problems = budgetProblemsOf(pool);
    if ((this.#told.get(pool.uid) ?? '') === problems) return;
    this.#told.set(pool.uid, problems);
    if (problems === '') return;
    const message = `no node is disrupted: ${problems}`;
    const name = poolKey(pool.identity);
    this.#deps.log.warn('budget-not-readable', `${name}: ${message}`, { pool: name });
    this.#deps.events.record({
      about: aboutPool(pool),
      type: 'Warning',
      reason: 'BudgetInvalid',
      message,
    });
  }

  /** The pool is gone. */
  forget(uid: string): void {
    this.#told.delete(uid);
  }
}
