import type { Offer, Template } from './templates.js';

/**
 * Returns how many values of a key the types of some offers have. A type that is sold in three
 * zones counts three, also for a node that is bound to one of them. Karpenter counts in the same
 * way.
 */
export function valuesAmong(offers: readonly Offer[], key: string): number {
  const values = new Set<string>();
  for (const { requirements } of new Set(offers.map(({ type }) => type.type)))
    for (const value of requirements.get(key)?.values ?? []) values.add(value);
  return values.size;
}

/** Whether the types of some offers have as many values of each key as the pool demands. */
export const meetsMinValues = (
  { minValues }: Pick<Template, 'minValues'>,
  offers: readonly Offer[],
): boolean => minValues.every(({ key, count }) => valuesAmong(offers, key) >= count);
