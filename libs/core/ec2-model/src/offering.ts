import { compareText } from '@dovetail/core-kube-model';

import type { PriceQuote } from './facts.js';
import type { CapacityType, Offering } from './instance-type.js';

/** The identity of an offering in a region. */
export type OfferingIdentity = {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityType;
};

/** The identity as one text for maps and sets: `spot:m5.large:us-east-1a`. */
export const offeringKey = ({ capacityType, instanceType, zone }: OfferingIdentity): string =>
  `${capacityType}:${instanceType}:${zone}`;

/**
 * Stands for every offering of a capacity type, as when an account cannot buy Spot at all. No type
 * and no zone has this name.
 */
export const wholeCapacityType = (capacityType: CapacityType): OfferingIdentity => ({
  instanceType: '*',
  zone: '*',
  capacityType,
});

/** The keys under which an offering may be marked: its own, and that of its capacity type. */
export const markKeys = (offering: OfferingIdentity): readonly string[] => [
  offeringKey(offering),
  offeringKey(wholeCapacityType(offering.capacityType)),
];

/** Prices of purchases, in millionths of a US dollar per hour. Undefined where none is known. */
export type PriceBook = {
  onDemand(
    instanceType: string,
  ): { readonly micros: number; readonly estimated: boolean } | undefined;
  /** The on-demand price on dedicated hosts. */
  dedicated(
    instanceType: string,
  ): { readonly micros: number; readonly estimated: boolean } | undefined;
  spot(
    instanceType: string,
    zone: string,
  ): { readonly micros: number; readonly estimated: boolean } | undefined;
};

/**
 * Looks up prices by type and zone. Without any spot quote, as before the first answer, spot costs
 * as much as on-demand and is marked estimated. With some quotes, an offering without one is not
 * for sale (Karpenter's rule).
 */
export function priceBookOf(quotes: readonly PriceQuote[]): PriceBook {
  const onDemand = new Map<string, { micros: number; estimated: boolean }>();
  const spot = new Map<string, { micros: number; estimated: boolean }>();
  const dedicated = new Map<string, { micros: number; estimated: boolean }>();
  for (const quote of quotes) {
    const { instanceType, zone, capacityType, priceMicrosPerHour, estimated } = quote;
    const price = { micros: priceMicrosPerHour, estimated };
    if (capacityType === 'on-demand')
      (quote.tenancy === 'dedicated' ? dedicated : onDemand).set(instanceType, price);
    if (capacityType === 'spot' && zone !== undefined) spot.set(`${instanceType}:${zone}`, price);
  }
  return {
    onDemand: (instanceType) => onDemand.get(instanceType),
    dedicated: (instanceType) => dedicated.get(instanceType),
    spot: (instanceType, zone) => {
      if (spot.size > 0) return spot.get(`${instanceType}:${zone}`);
      const fallback = onDemand.get(instanceType);
      return fallback === undefined ? undefined : { micros: fallback.micros, estimated: true };
    },
  };
}

/** Orders offerings of one type by price, then zone, then capacity type. */
export const cheapestOfferingFirst = (a: Offering, b: Offering): number =>
  a.priceMicrosPerHour - b.priceMicrosPerHour ||
  compareText(a.zone, b.zone) ||
  compareText(a.capacityType, b.capacityType);
