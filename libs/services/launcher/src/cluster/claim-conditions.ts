import type { Condition } from '@dovetail/core-api';
import { type NewCondition, withCondition, withRoot } from '@dovetail/service-kit';

/**
 * The conditions that a claim's Ready is made of, in the order in which they come true
 * (Karpenter's).
 */
export const claimSteps = ['Launched', 'Registered', 'Initialized'] as const;

/**
 * The claim's conditions with one of them set and Ready following; the same list when nothing
 * changes.
 */
export const withClaimCondition = (
  held: readonly Condition[],
  next: NewCondition,
  nowMs: number,
): readonly Condition[] => withRoot(withCondition(held, next, nowMs), claimSteps, nowMs);
