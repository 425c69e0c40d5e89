import { poolKey } from '@dovetail/core-api';
import type { ExistingNode } from '@dovetail/core-scheduling';

import type { Candidate } from './candidates.js';
import type { Worths } from './worths.js';

/**
 * Nodes that are repacked together. Larger regions come closer to the least price. Smaller ones are
 * planned sooner, and give smaller commands.
 */
const nodesPerRegion = 40;
/** The most pods of a region, on average: a plan of so many pods is made within 200 ms. */
const podsPerRegion = 320;

/**
 * The shares of what the pods of a region are worth that new nodes may hold. The less is bought,
 * the more nodes stay and the fewer pods move; the more is bought, the better nodes suit the pods.
 */
const boughtShares = [0, 0.1, 0.2, 0.35, 0.55, 0.75, 1] as const;

/** The share of a node that pods fill at most, as a plan can hope for. */
const filledShare = 0.985;

/** Nodes that are repacked together: those that may go, and others that may take their pods. */
export type Region = {
  /** Those that should go first, first. */
  readonly candidates: readonly Candidate[];
  readonly rooms: readonly ExistingNode[];
};

/** Deals nodes out to regions that are alike: each has nodes of every kind. */
export function regionsOf(
  candidates: readonly Candidate[],
  rooms: readonly ExistingNode[],
): readonly Region[] {
  const pods = candidates.reduce((sum, candidate) => sum + candidate.pods.length, 0);
  const count = Math.max(
    1,
    Math.round(candidates.length / nodesPerRegion),
    Math.round(pods / podsPerRegion),
  );
  const dealt = <T>(all: readonly T[], region: number): readonly T[] =>
    all.filter((_one, index) => index % count === region);
  return Array.from({ length: count }, (_none, region) => ({
    candidates: dealt(candidates, region),
    rooms: dealt(rooms, region),
  })).filter((region) => region.candidates.length > 0);
}

/**
 * How many of the first candidates go, in each way to repack a region: the fewest first. Where
 * budgets count for all commands together, each way keeps them. Where they count for each, one way
 * gives up as many as one command may, and buys for them; the others are cut into smaller ones.
 */
export function cutsOf(
  { candidates, rooms }: Region,
  worths: Worths,
  allowed: ReadonlyMap<string, number>,
  budgets: 'each' | 'all' = 'all',
): readonly number[] {
  const within = withinBudgets(candidates, allowed);
  const most = budgets === 'all' ? within : candidates.length;
  const demand = candidates.reduce((sum, candidate) => sum + worths.used(candidate), 0);
  const freeIn = ({ allocatable, pods }: Pick<ExistingNode, 'allocatable' | 'pods'>): number =>
    worths.of(allocatable) - pods.reduce((sum, { requests }) => sum + worths.of(requests), 0);
  const free = rooms.reduce((sum, room) => sum + Math.max(0, freeIn(room)), 0);
  const capacities = candidates.map(({ view }) => worths.of(view.node.allocatable));
  const cuts = new Set(within > 0 && within < most ? [within] : []);
  for (const share of boughtShares) {
    // Nodes go as long as those that stay, and what is bought, can hold all pods.
    let held = (free + capacities.reduce((sum, one) => sum + one, 0)) * filledShare;
    let cut = 0;
    while (
      cut < most &&
      (share >= 1 || held - (capacities[cut] ?? 0) * filledShare >= demand * (1 - share))
    ) {
      held -= (capacities[cut] ?? 0) * filledShare;
      cut += 1;
    }
    if (cut > 0) cuts.add(cut);
  }
  return [...cuts].toSorted((a, b) => a - b);
}

/** How many of the first candidates may go until the budget of some pool is spent. */
function withinBudgets(
  candidates: readonly Candidate[],
  allowed: ReadonlyMap<string, number>,
): number {
  const taken = new Map<string, number>();
  const first = candidates.findIndex(({ view }) => {
    const key = poolKey(view.pool.identity);
    const count = (taken.get(key) ?? 0) + 1;
    taken.set(key, count);
    return count > (allowed.get(key) ?? 0);
  });
  return first < 0 ? candidates.length : first;
}
