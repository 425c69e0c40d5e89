import type { Pool } from '@dovetail/core-api';

import { type DisruptionNote, note } from '../facts/refusal.js';
import type { NodeView } from '../facts/view.js';
import { disruptionBlocks } from '../rules/eligibility.js';
import { consolidatableMs } from './consolidatable.js';
import { podsThatCount } from './emptiness.js';
import { type CauseFacts, ofNoConcern, type Standing } from './standing.js';

/**
 * Whether consolidation may look at a node with pods. Those without are a matter of emptiness. It
 * is due as soon as a solver may be asked whether its pods fit elsewhere for less.
 */
export function underusedStanding(view: NodeView, facts: CauseFacts): Standing {
  if (podsThatCount(view.pods).length === 0) return ofNoConcern;
  const disabled = disabledBy(view.pool, facts);
  if (disabled !== undefined) return { kind: 'stays', notes: [disabled] };
  const dueMs = consolidatableMs(view);
  if (dueMs === undefined) return ofNoConcern;
  if (dueMs > facts.nowMs) return { kind: 'later', dueMs, notes: [restLeft(dueMs, facts.nowMs)] };
  const said = facts.searchAnswer?.(view.claim);
  return {
    kind: 'due',
    sinceMs: dueMs,
    note: note('underutilized', 'a solver is asked whether its pods fit elsewhere'),
    held: disruptionBlocks(view, facts),
    isToAsk: true,
    ...(said === undefined ? {} : { left: said }),
  };
}

function restLeft(dueMs: number, nowMs: number): DisruptionNote {
  const seconds = Math.ceil((dueMs - nowMs) / 1000);
  return note('countdown', `a pod came or went lately: ${String(seconds)} s are left`, { seconds });
}

/** Why none of a pool's nodes with pods is consolidated, in Karpenter's words where it has them. */
function disabledBy(
  pool: Pool | undefined,
  { consolidates }: CauseFacts,
): DisruptionNote | undefined {
  if (pool === undefined) return note('disruption-disabled', 'the pool is gone');
  if (pool.replicas !== undefined)
    return note('disruption-disabled', 'the pool has replicas: its nodes stay');
  const { identity, disruption } = pool;
  const name = `${identity.kind} "${identity.name}"`;
  const values = { pool: identity.name };
  if (disruption.consolidateAfterMs === undefined)
    return note('disruption-disabled', `${name} has consolidation disabled`, values);
  if (disruption.policy === 'WhenEmpty')
    return note('disruption-disabled', `${name} has non-empty consolidation disabled`, {
      ...values,
      policy: disruption.policy,
    });
  return consolidates === false
    ? note('consolidation-off', 'consolidation is switched off (CONSOLIDATION=none)', values)
    : undefined;
}
