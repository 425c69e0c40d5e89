import { labels } from '@dovetail/core-api';
import { admits, type Requirements } from '@dovetail/core-kube-model';

import type { Offer, Template } from './templates.js';

/** A node to buy, as far as minimum values depend on it. */
type Narrowed = {
  readonly template: Pick<Template, 'minValues'>;
  /** The requirements of the node. Its zones and capacity types are those of its offers. */
  readonly requirements: Requirements;
};

/** The values of a key that one offer has, before the node's requirements are asked. */
function valuesOf({ type, offering }: Offer, key: string): Iterable<string> {
  if (key === labels.zone) return [offering.zone];
  if (key === labels.capacityType) return [offering.capacityType];
  return type.type.requirements.get(key)?.values ?? [];
}

/**
 * Returns how many values of a key a node with these offers may have. A type that is sold in three
 * zones counts once for a node that is bound to one of them. Karpenter counts in the same way since
 * 1.15 (pkg/cloudprovider, SatisfiesMinValues).
 */
export function valuesAmong(
  requirements: Requirements,
  offers: readonly Offer[],
  key: string,
): number {
  const allowed = requirements.get(key);
  const values = new Set<string>();
  for (const offer of offers)
    for (const value of valuesOf(offer, key))
      if (allowed === undefined || admits(allowed, value)) values.add(value);
  return values.size;
}

/** Whether a node with these offers may have as many values of each key as the pool demands. */
export const meetsMinValues = (
  { template: { minValues }, requirements }: Narrowed,
  offers: readonly Offer[],
): boolean => minValues.every(({ key, count }) => valuesAmong(requirements, offers, key) >= count);
