import { at, float64At } from '@dovetail/core-invariant';

import { Knapsack, type VisitsLeft } from './knapsack.js';
import { type Item, Kept, type Load, loadsMax, type Purchase } from './loads.js';
import type { MayShare } from './sharing.js';

const microsPerDollar = 1_000_000;

/**
 * The price of whole and partial nodes of these loads that hold everything, in dollars an hour, and
 * the worth of one more pod of each item in each place.
 */
type Priced = { readonly price: number; readonly worths: readonly Float64Array[] };

/** The places where nodes can be bought, and the program that prices their loads. */
export type Shopping = {
  readonly items: readonly Item[];
  readonly mayShare?: MayShare;
  /** The nodes of each place. */
  readonly places: readonly (readonly Purchase[])[];
  /** The partial loads that are looked at in all, at most. */
  readonly visitsMax?: number;
  /** Prices the loads of each place; undefined if the solver gave up. */
  readonly priced: (loads: readonly (readonly Load[])[]) => Promise<Priced | undefined>;
};

/**
 * A lower bound in dollars an hour, and worths of each item in each place that prove it: no node
 * costs less than any of its loads is worth. There are no worths if the solver gave up.
 */
export type Generated = { readonly bound: number; readonly worths: readonly Float64Array[] };

/**
 * The most rounds of pricing and of looking for loads. Most problems need fewer than forty; more
 * rounds gain nearly nothing.
 */
const roundsMax = 120;
/** A bound this close to the price of its loads is not improved further. */
const closeEnough = 1.0002;
/**
 * The partial loads of a node that are looked at in a round: few at first, and more as soon as so
 * few find nothing. Higher limits prove more and take more time.
 */
const visitsAtFirst = 250;
const visitsGrowth = 8;
const nodeVisitsMax = 128_000;
/** The partial loads that are looked at in all: some ten seconds. */
const allVisitsMax = 10_000_000;
/** The share of a price by which a load must be worth more, above the solver's rounding. */
const leastGain = 1e-7;

const admitting =
  ({ admits }: Purchase) =>
  (item: number): boolean =>
    admits[item] === true;

/** For each item, the cheapest node of a place that holds one pod of it. */
function startingLoads(nodes: readonly Purchase[], items: readonly Item[]): Load[] {
  return items.flatMap(({ requests }, item): Load[] => {
    const fitting = nodes.filter(
      ({ admits, room }) =>
        admits[item] === true && requests.every((amount, r) => amount <= float64At(room, r)),
    );
    if (fitting.length === 0) return [];
    const priceMicrosPerHour = Math.min(...fitting.map((node) => node.priceMicrosPerHour));
    return [{ counts: items.map((_, other) => (other === item ? 1 : 0)), priceMicrosPerHour }];
  });
}

/** The loads of a place that are worth more than their nodes, and how much more for their price. */
type Worthwhile = { readonly loads: readonly Load[]; readonly ratio: number };

/** Looks for a load of each node that is worth more than the node. `ratio` holds for all loads. */
function worthwhileIn(
  knapsack: Knapsack,
  nodes: readonly Purchase[],
  what: { readonly worths: Float64Array; readonly nodeVisits: number; readonly left: VisitsLeft },
): Worthwhile {
  const loads: Load[] = [];
  let ratio = 1;
  for (const node of nodes) {
    const { room, priceMicrosPerHour } = node;
    const price = priceMicrosPerHour / microsPerDollar;
    const given = Math.min(what.nodeVisits, what.left.visits);
    const budget = { visits: given };
    const least = price * (1 + leastGain);
    const sack = { room, admits: admitting(node) };
    const { most, counts } = knapsack.worthiest(sack, what.worths, { least, budget });
    what.left.visits -= given - Math.max(0, budget.visits);
    ratio = Math.max(ratio, most / price);
    if (counts !== undefined) loads.push({ counts, priceMicrosPerHour });
  }
  return { loads, ratio };
}

/**
 * Prices nodes in fractions by their loads. It begins with few loads, and adds those that are worth
 * more than their nodes at the prices of the pods so far, until there are none. In each round the
 * worths, scaled down until no load is worth more than its node, prove a bound: every set of nodes
 * that holds everything costs at least what everything is worth.
 */
export async function generatedLoads(shopping: Shopping): Promise<Generated> {
  const { items, places } = shopping;
  const knapsack = new Knapsack(items, shopping.mayShare);
  const loads = places.map((nodes) => startingLoads(nodes, items));
  const left = { visits: Math.min(allVisitsMax, shopping.visitsMax ?? Infinity) };
  let best: Generated = { bound: 0, worths: [] };
  let nodeVisits = visitsAtFirst;
  for (let round = 0; round < roundsMax && left.visits > 0; round += 1) {
    const found = await shopping.priced(loads);
    if (found === undefined) break;
    const worthwhile = places.map((nodes, place) =>
      worthwhileIn(knapsack, nodes, { worths: at(found.worths, place), nodeVisits, left }),
    );
    const ratio = Math.max(...worthwhile.map((one) => one.ratio));
    if (found.price / ratio > best.bound)
      best = {
        bound: found.price / ratio,
        worths: found.worths.map((worths) => worths.map((one) => one / ratio)),
      };
    if (found.price <= best.bound * closeEnough) break;
    worthwhile.forEach((one, place) => at(loads, place).push(...one.loads));
    if (worthwhile.some((one) => one.loads.length > 0)) continue;
    if (nodeVisits >= nodeVisitsMax) break;
    nodeVisits = Math.min(nodeVisitsMax, nodeVisits * visitsGrowth);
  }
  return best;
}

/** The most partial loads of a place that are looked at: about a second. */
const placeVisitsMax = 1_000_000;

/**
 * Returns the fullest loads of the nodes of one place whose price is at most `spare` dollars an
 * hour above their worth; undefined if there are too many.
 */
export function worthwhileLoads(
  nodes: readonly Purchase[],
  items: readonly Item[],
  what: {
    readonly mayShare: MayShare;
    readonly worths: Float64Array;
    readonly spare: number;
    /** The partial loads that are looked at, at most. */
    readonly visitsMax?: number;
  },
): readonly Load[] | undefined {
  const knapsack = new Knapsack(items, what.mayShare);
  const kept = new Kept();
  const budget = { visits: Math.min(placeVisitsMax, what.visitsMax ?? Infinity) };
  for (const node of nodes) {
    const least = node.priceMicrosPerHour / microsPerDollar - what.spare;
    const goesOn = knapsack.loads({ room: node.room, admits: admitting(node) }, what.worths, {
      least: () => least,
      budget,
      found: (counts) => {
        kept.add(counts, node.priceMicrosPerHour);
        // Comparing it with the others takes time as well.
        budget.visits -= kept.loads.length >> 4;
      },
    });
    if (!goesOn || kept.loads.length > loadsMax) return undefined;
  }
  return kept.loads;
}
