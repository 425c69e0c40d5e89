import type { NodeClaim } from '@dovetail/core-api';
import { compareText } from '@dovetail/core-kube-model';

import { conditionTrueSinceMs, type NodeView } from '../facts/view.js';

/** Karpenter's condition on a NodeClaim: nothing came or went for `consolidateAfter`. */
export const consolidatableType = 'Consolidatable';

/**
 * Since when a node may be consolidated, or will be: `consolidateAfter` past its last pod event, or
 * past its initialisation if no pod came. It is Karpenter's rule for the condition Consolidatable.
 * Undefined: never.
 */
export function consolidatableMs({
  claim,
  pool,
}: Pick<NodeView, 'claim' | 'pool'>): number | undefined {
  const afterMs = pool?.disruption.consolidateAfterMs;
  const initializedMs = conditionTrueSinceMs(claim, 'Initialized');
  if (afterMs === undefined || initializedMs === undefined) return undefined;
  return (claim.lastPodEventMs ?? initializedMs) + afterMs;
}

/** The claims whose condition Consolidatable does not say what is true now. */
export type ConsolidatableChanges = {
  /** Claims that get the condition, by name. */
  readonly set: readonly NodeClaim[];
  /** Claims that lose it, by name. Karpenter removes the condition and never sets it to False. */
  readonly clear: readonly NodeClaim[];
  /** When the next claim gets the condition if nothing changes. Absent: no time is waited for. */
  readonly nextDueMs?: number;
};

/**
 * Compares the condition Consolidatable of every claim with Karpenter's rule. Claims that are being
 * deleted, claims without a pool and those of a static pool are left as they are. The order of the
 * views does not count.
 */
export function consolidatableChanges(
  views: readonly NodeView[],
  nowMs: number,
): ConsolidatableChanges {
  const set: NodeClaim[] = [];
  const clear: NodeClaim[] = [];
  let nextDueMs = Infinity;
  for (const { claim, pool } of views) {
    if (claim.deletionMs !== undefined || pool === undefined || pool.replicas !== undefined)
      continue;
    const held = claim.conditions.find(({ type }) => type === consolidatableType);
    const dueMs = consolidatableMs({ claim, pool }) ?? Infinity;
    if (dueMs <= nowMs) {
      if (held?.status !== 'True') set.push(claim);
      continue;
    }
    if (held !== undefined) clear.push(claim);
    nextDueMs = Math.min(nextDueMs, dueMs);
  }
  // Few claims change at a time, so only these are put in order.
  for (const changed of [set, clear]) changed.sort((a, b) => compareText(a.name, b.name));
  return { set, clear, ...(Number.isFinite(nextDueMs) ? { nextDueMs } : {}) };
}
