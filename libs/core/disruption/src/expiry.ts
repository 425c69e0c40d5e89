import type { NodeClaim } from '@dovetail/core-api';

import { type DisruptionNote, note } from './refusal.js';

/** Whether and when a claim expires. */
export type Expiry =
  | { readonly kind: 'never'; readonly note: DisruptionNote }
  | { readonly kind: 'later'; readonly dueMs: number; readonly note: DisruptionNote }
  | { readonly kind: 'due'; readonly dueMs: number; readonly note: DisruptionNote };

/**
 * Decides whether a claim has expired: its creation plus `expireAfter` is over
 * (`ttlSecondsUntilExpired` of a Provisioner). The claim keeps the value of its creation; a later
 * change of the pool drifts the node but does not move its expiry (Karpenter's rule). Expiry
 * ignores budgets and do-not-disrupt. Draining still honours PodDisruptionBudgets.
 */
export function expiryOf(claim: NodeClaim, nowMs: number): Expiry {
  if (claim.expireAfterMs === undefined)
    return { kind: 'never', note: note('never-expires', 'expireAfter is Never', {}) };
  const dueMs = claim.createdMs + claim.expireAfterMs;
  const values = {
    ageSeconds: Math.floor((nowMs - claim.createdMs) / 1000),
    expireAfterSeconds: Math.floor(claim.expireAfterMs / 1000),
  };
  const said = note(
    nowMs < dueMs ? 'not-expired' : 'expired',
    `${String(values.ageSeconds)} s old, expires at ${String(values.expireAfterSeconds)} s`,
    values,
  );
  return { kind: nowMs < dueMs ? 'later' : 'due', dueMs, note: said };
}
