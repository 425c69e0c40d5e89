import { lookUp } from '@dovetail/core-invariant';
import { compareText } from '@dovetail/core-kube-model';

import type { SpotMarket } from '../foundation/spot-market.js';
import type { Timeline } from '../foundation/timeline.js';
import type { Candidate } from './candidates.js';
import type { Capacity } from './capacity.js';
import type { FleetInput } from './fleet-request.js';

/** How instances are bought. */
export type Lifecycle = 'on-demand' | 'spot';

/** A candidate with what the strategies compare. `depth` is the free places, up to deepFrom. */
export type Ranked = {
  readonly candidate: Candidate;
  readonly priceMicros: number;
  readonly depth: number;
};

type Market = {
  readonly timeline: Timeline;
  readonly market: SpotMarket;
  readonly capacity: Capacity;
};

/** An unknown price comes after every known one. */
const unknownPrice = Number.MAX_SAFE_INTEGER;

// A pool counts as deep from this many free places; in the twin, more places change nothing.
const deepFrom = 20;

/** Looks up the price and the depth of a candidate's pool, as of now. */
export function rankOf(deps: Market, candidate: Candidate, lifecycle: Lifecycle): Ranked {
  const { type, subnet } = candidate;
  const priceMicros =
    lifecycle === 'spot'
      ? deps.market.priceAt(type, subnet.zone, deps.timeline.nowMs())?.priceMicros
      : type.onDemandPriceMicros;
  const free = deps.capacity.free({
    instanceType: type.facts.name,
    zone: subnet.zone,
    capacityType: lifecycle,
  });
  return { candidate, priceMicros: priceMicros ?? unknownPrice, depth: Math.min(free, deepFrom) };
}

type Order = (left: Ranked, right: Ranked) => number;
const cheapest: Order = (left, right) => left.priceMicros - right.priceMicros;
const deepest: Order = (left, right) => right.depth - left.depth;
const priority = ({ candidate }: Ranked): number => candidate.override.priority ?? Number.MAX_VALUE;
const mostWanted: Order = (left, right) => priority(left) - priority(right);
const byIdentity: Order = (left, right) =>
  compareText(left.candidate.type.facts.name, right.candidate.type.facts.name) ||
  compareText(left.candidate.subnet.zone, right.candidate.subnet.zone) ||
  compareText(left.candidate.subnet.id, right.candidate.subnet.id);

/** The orders of each strategy. Ties are settled by price, then by name. */
const strategies: Readonly<Record<string, readonly Order[]>> = {
  'lowest-price': [cheapest],
  prioritized: [mostWanted],
  'price-capacity-optimized': [deepest, cheapest],
  'capacity-optimized': [deepest],
  'capacity-optimized-prioritized': [deepest, mostWanted],
};

/** The candidates in the order in which the strategy takes them. */
export function ordered(ranked: readonly Ranked[], strategy: string): readonly Ranked[] {
  const orders = [...(lookUp(strategies, strategy) ?? []), cheapest, byIdentity];
  return [...ranked].sort((left, right) =>
    orders.reduce((result, order) => result || order(left, right), 0),
  );
}

/** Whether the candidate's price is within the request's highest Spot price. */
export const affordable =
  (input: FleetInput) =>
  ({ candidate, priceMicros }: Ranked): boolean =>
    input.capacityType !== 'spot' ||
    priceMicros <=
      (candidate.override.maxPriceMicros ?? candidate.type.onDemandPriceMicros ?? unknownPrice);
