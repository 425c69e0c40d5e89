import type { Condition, Pool } from '@dovetail/core-api';
import { conditionOf, type NewCondition } from '@dovetail/service-kit';

/** The condition of a pool that says whether its under-used nodes are given up as it asks. */
const consolidationType = 'ConsolidationEnabled';

/** Whether a pool asks that nodes with pods are given up (Karpenter's policies). */
const asksForIt = ({ disruption, replicas }: Pool): boolean =>
  disruption.policy !== 'WhenEmpty' &&
  disruption.consolidateAfterMs !== undefined &&
  replicas === undefined;

/**
 * The condition about consolidation. It is no part of Ready. A pool that gets what it asks for does
 * not have it, unless it did not get it before.
 */
export function consolidationCondition(
  pool: Pool,
  held: readonly Condition[],
  consolidates: boolean,
): readonly NewCondition[] {
  const isOff = !consolidates && asksForIt(pool);
  if (isOff) {
    const message = 'under-used nodes stay: consolidation is switched off (CONSOLIDATION=none)';
    return [{ type: consolidationType, status: 'False', reason: 'SwitchedOff', message }];
  }
  if (conditionOf(held, consolidationType) === undefined) return [];
  return [{ type: consolidationType, status: 'True', reason: consolidationType }];
}
