import { compareCodeUnits } from './order.js';
import type { CapacityType, Offering } from './instance-type.js';
import type { PriceQuote } from './facts.js';

/** What identifies an offering among all. */
export type OfferingIdentity = { readonly instanceType: string; readonly zone: string; readonly capacityType: CapacityType };

/** `spot:m5.large:us-east-1a`: one string for maps and sets. */
export const offeringKey = ({ capacityType, instanceType, zone }: OfferingIdentity): string => `${capacityType}:${instanceType}:${zone}`;

/** The price of one purchase; undefined when nobody has published one. */
export type PriceBook = {
  onDemand(instanceType: string): { readonly micros: number; readonly estimated: boolean } | undefined;
  spot(instanceType: string, zone: string): { readonly micros: number; readonly estimated: boolean } | undefined;
};

/**
 * Looks prices up by type and zone. While there is no spot quote at all (before the first answer, or where spot prices
 * cannot be read) spot counts as dear as on-demand, marked estimated; once there are some, a missing one means that the
 * offering is not for sale (Karpenter's rule).
 */
export function priceBookOf(quotes: readonly PriceQuote[]): PriceBook {
  const onDemand = new Map<string, { micros: number; estimated: boolean }>();
  const spot = new Map<string, { micros: number; estimated: boolean }>();
  for (const { instanceType, zone, capacityType, priceMicrosPerHour, estimated } of quotes) {
    const price = { micros: priceMicrosPerHour, estimated };
    if (capacityType === 'on-demand') onDemand.set(instanceType, price);
    if (capacityType === 'spot' && zone !== undefined) spot.set(`${instanceType}:${zone}`, price);
  }
  return {
    onDemand: (instanceType) => onDemand.get(instanceType),
    spot: (instanceType, zone) => {
      if (spot.size > 0) return spot.get(`${instanceType}:${zone}`);
      const fallback = onDemand.get(instanceType);
      return fallback === undefined ? undefined : { micros: fallback.micros, estimated: true };
    },
  };
}

/** Cheapest first; ties by zone, then capacity type. */
export const cheapestOfferingFirst = (a: Offering, b: Offering): number =>
  a.priceMicrosPerHour - b.priceMicrosPerHour || compareCodeUnits(a.zone, b.zone) || compareCodeUnits(a.capacityType, b.capacityType);
