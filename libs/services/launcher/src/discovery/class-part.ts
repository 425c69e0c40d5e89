import type { NewCondition } from '@dovetail/service-kit';

/**
 * One part of a class. `keep`: it was not asked for, or AWS did not answer, and what was known
 * stands.
 */
export type Part<T> =
  | { readonly kind: 'found'; readonly value: T }
  | { readonly kind: 'missing'; readonly condition: NewCondition }
  | { readonly kind: 'keep'; readonly condition: NewCondition };

/** A part that AWS does not have, with the remedy. */
export const missing = (
  type: string,
  reason: string,
  message: string,
): { readonly kind: 'missing'; readonly condition: NewCondition } => ({
  kind: 'missing',
  condition: { type, status: 'False', reason, message },
});
