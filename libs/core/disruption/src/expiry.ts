import type { NodeClaim } from '@dovetail/core-api';
import { note, type DisruptionNote } from './refusal.js';

export type Expiry =
  | { readonly kind: 'never'; readonly note: DisruptionNote }
  | { readonly kind: 'later'; readonly dueMs: number; readonly note: DisruptionNote }
  | { readonly kind: 'due'; readonly dueMs: number; readonly note: DisruptionNote };

/**
 * Whether a claim has reached its end: its creation plus `expireAfter` as written on the claim when it was made (a Provisioner's
 * `ttlSecondsUntilExpired`). Changing the pool later drifts the node but does not move its expiry (Karpenter's rule). Expiry asks
 * no budgets and no do-not-disrupt; draining still honours PodDisruptionBudgets.
 */
export function expiryOf(claim: NodeClaim, nowMs: number): Expiry {
  if (claim.expireAfterMs === undefined) return { kind: 'never', note: note('never-expires', 'expireAfter is Never', {}) };
  const dueMs = claim.createdMs + claim.expireAfterMs;
  const values = { ageSeconds: Math.floor((nowMs - claim.createdMs) / 1000), expireAfterSeconds: Math.floor(claim.expireAfterMs / 1000) };
  const said = note(nowMs < dueMs ? 'not-expired' : 'expired', `${String(values.ageSeconds)} s old, expires at ${String(values.expireAfterSeconds)} s`, values);
  return { kind: nowMs < dueMs ? 'later' : 'due', dueMs, note: said };
}
