import type { Condition, NodeClaim, Pool } from '@dovetail/core-api';
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

/** The message where a pool asks that more nodes end than do. */
const switchedOff =
  'it ends only if it is empty: consolidation is switched off (CONSOLIDATION=none)';

const wordsFor = ({ disruption }: Pool, consolidates: boolean): string =>
  consolidates || disruption.policy === 'WhenEmpty' ? '' : switchedOff;

/** Whether the condition says this. Another writer's words are left where we have none to add. */
const says = ({ status, message: held }: Condition, message: string): boolean =>
  status === 'True' && (held === message || (message === '' && held !== switchedOff));

/** The claims whose condition Consolidatable does not say what is true now. */
export type ConsolidatableChanges = {
  /** Claims that get the condition, by name, each with the condition's message. */
  readonly set: readonly { readonly claim: NodeClaim; readonly message: string }[];
  /** Claims that lose it, by name. Karpenter removes the condition and never sets it to False. */
  readonly clear: readonly NodeClaim[];
  /** When the next claim gets the condition if nothing changes. Absent: no time is waited for. */
  readonly nextDueMs?: number;
};

/**
 * Compares the condition Consolidatable of every claim with Karpenter's rule. Claims that are being
 * deleted, claims without a pool and those of a static pool are left as they are. The order of the
 * views does not count. Where under-used nodes are not given up at all (`consolidates` false), the
 * condition says so.
 */
export function consolidatableChanges(
  views: readonly NodeView[],
  nowMs: number,
  consolidates = true,
): ConsolidatableChanges {
  const set: ConsolidatableChanges['set'][number][] = [];
  const clear: NodeClaim[] = [];
  let nextDueMs = Infinity;
  for (const { claim, pool } of views) {
    if (claim.deletionMs !== undefined || pool === undefined || pool.replicas !== undefined)
      continue;
    const held = claim.conditions.find(({ type }) => type === consolidatableType);
    const dueMs = consolidatableMs({ claim, pool }) ?? Infinity;
    if (dueMs <= nowMs) {
      const message = wordsFor(pool, consolidates);
      if (held === undefined || !says(held, message)) set.push({ claim, message });
      continue;
    }
    if (held !== undefined) clear.push(claim);
    nextDueMs = Math.min(nextDueMs, dueMs);
  }
  // Few claims change at a time, so only these are put in order.
  set.sort((a, b) => compareText(a.claim.name, b.claim.name));
  clear.sort((a, b) => compareText(a.name, b.name));
  return { set, clear, ...(Number.isFinite(nextDueMs) ? { nextDueMs } : {}) };
}
