import { requirementsOf, type RequirementSpec } from '@dovetail/core-kube-model';

import { catalogFor } from '../catalog.js';
import type { Subnet } from '../cloud-values.js';
import type { PriceQuote } from '../facts.js';
import type { InstanceType } from '../instance-type.js';
import { instanceTypesFor } from '../instance-types.js';
import type { LaunchWish } from '../launch-choice.js';
import { priceBookOf } from '../offering.js';
import { nodeClassWith } from './node-class.js';

const entries = catalogFor('us-east-1');
const quotes: readonly PriceQuote[] = entries.flatMap(
  ({ facts, zones, onDemandPriceMicrosPerHour: price }) =>
    price === undefined
      ? []
      : [
          {
            instanceType: facts.name,
            capacityType: 'on-demand' as const,
            priceMicrosPerHour: price,
            estimated: false,
          },
          ...zones.map((zone, index) => ({
            instanceType: facts.name,
            zone,
            capacityType: 'spot' as const,
            priceMicrosPerHour: Math.round(price * (0.3 + index / 10)),
            estimated: false,
          })),
        ],
);

/** The types of us-east-1 as the common class boots them, at public prices and cheaper spot. */
export const { types } = instanceTypesFor(nodeClassWith(), {
  region: 'us-east-1',
  facts: entries.map((e) => e.facts),
  zones: new Map(entries.map((e) => [e.facts.name, e.zones])),
  prices: priceBookOf(quotes),
  isUnavailable: () => false,
});

/** The types of these names. */
export const named = (...names: string[]): readonly InstanceType[] =>
  types.filter((type) => names.includes(type.name));

/** A requirement of one of these values. */
export const only = (key: string, ...values: string[]): RequirementSpec => ({
  key,
  operator: 'In',
  values,
});

/** The wish of a claim. */
export const wish = (
  requests: Record<string, number>,
  ...specs: RequirementSpec[]
): LaunchWish => ({ requirements: requirementsOf(specs), requests });

/** A requirement of one of these capacity types. */
export const capacityTypes = (...values: string[]): RequirementSpec =>
  only('karpenter.sh/capacity-type', ...values);

/** A subnet with so many free addresses. */
export const subnet = (id: string, zone: string, freeAddresses: number): Subnet => ({
  id,
  zone,
  zoneId: '',
  freeAddresses,
  tags: {},
});
