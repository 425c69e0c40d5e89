import fc from 'fast-check';

import type { RequirementSpec, ValueSet } from '../requirement.js';
import { intersectSets } from '../requirement-set.js';
import { setOfSpec } from '../requirements.js';

/** A requirement on the key `k`. */
export const spec = (
  operator: RequirementSpec['operator'],
  ...values: string[]
): RequirementSpec => ({ key: 'k', operator, values });

/**
 * Values that the generated requirements name: texts, integers, and an integer with a leading zero.
 */
export const values = ['a', 'b', 'c', '1', '2', '3', '7', '05'];

/** Any requirement on the key `k`. */
export const anySpec = fc.oneof(
  fc.record({
    key: fc.constant('k'),
    operator: fc.constantFrom('In' as const, 'NotIn' as const),
    values: fc.subarray(values),
  }),
  fc.record({
    key: fc.constant('k'),
    operator: fc.constantFrom('Exists' as const, 'DoesNotExist' as const),
    values: fc.constant([]),
  }),
  fc.record({
    key: fc.constant('k'),
    operator: fc.constantFrom('Gt' as const, 'Lt' as const, 'Gte' as const, 'Lte' as const),
    values: fc.constantFrom(['1'], ['2'], ['5'], ['x']),
  }),
);

/** The intersection of up to three requirements. */
export const anySet: fc.Arbitrary<ValueSet> = fc
  .array(anySpec, { minLength: 1, maxLength: 3 })
  .map((specs) => specs.map(setOfSpec).reduce(intersectSets));

/** Whether two sets are written the same: values, bounds, presence and minValues. */
export function equalSets(a: ValueSet, b: ValueSet): boolean {
  if (a.kind !== b.kind || a.present !== b.present || a.minValues !== b.minValues) return false;
  if (a.gte !== b.gte || a.lte !== b.lte || a.values.size !== b.values.size) return false;
  for (const value of a.values) if (!b.values.has(value)) return false;
  return true;
}
