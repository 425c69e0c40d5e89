import { cheapestFor } from '../rooms/accounts.js';
import { joinedBin, totalPrice } from './bins.js';
import { worthOf } from './fill.js';
import { type PackBin, type PackContext } from './packing.js';

/**
 * The nodes next in worth that each node is tried with. Sizes of types double, so nodes of like
 * worth join best. More of them find cheaper pairs and take more time.
 */
const partnersMax = 24;
/** Partners of a node that are joined on trial, because rules may forbid the pair. */
const trialsMax = 3;
/** Rounds of joining pairs. Each may halve the number of nodes, so few are needed. */
const roundsMax = 12;

/** Two nodes, the node that holds the pods of both, and by how much it costs more than both. */
type Pair = {
  readonly small: PackBin;
  readonly into: PackBin;
  readonly joined: PackBin;
  readonly extra: number;
};

/** Returns the least price of a node for both loads, as far as the state of `into` tells. */
function leastPrice(into: PackBin, small: PackBin): number {
  const used = into.used.map((amount, r) => amount + (small.used[r] as number));
  return (
    cheapestFor(into.state, { used, ports: into.ports })?.offering.priceMicrosPerHour ?? Infinity
  );
}

/** A node that keeps its share of a hostname spread stays, and no pod moves to a lighter pool. */
const mayJoin = (into: PackBin, small: PackBin): boolean =>
  into.base === undefined && into.state.template.pool.weight >= small.state.template.pool.weight;

/** Returns the pair of a node that costs the least more, at most `extraMax`. */
function pairFor(
  context: PackContext,
  small: PackBin,
  what: { readonly partners: readonly PackBin[]; readonly extraMax: number },
): Pair | undefined {
  const hopeful = what.partners
    .filter((into) => mayJoin(into, small))
    .map((into) => ({ into, least: leastPrice(into, small) - into.price - small.price }))
    .filter(({ least }) => least <= what.extraMax)
    .sort((a, b) => a.least - b.least)
    .slice(0, trialsMax);
  for (const { into } of hopeful) {
    const joined = joinedBin(context, into, small);
    const extra = joined === undefined ? Infinity : joined.price - into.price - small.price;
    if (joined !== undefined && extra <= what.extraMax) return { small, into, joined, extra };
  }
  return undefined;
}

/** Joins pairs, those that cost the least more first, for at most `budget` more in all. */
function joinPairs(
  context: PackContext,
  bins: readonly PackBin[],
  budget: number,
): readonly PackBin[] {
  const order = bins
    .map((bin) => ({ bin, worth: worthOf(context, bin) }))
    .sort((a, b) => a.worth - b.worth || a.bin.id - b.bin.id)
    .map(({ bin }) => bin);
  const pairs = order.flatMap((small, index): readonly Pair[] => {
    if (small.base !== undefined) return [];
    const partners = order.slice(index + 1, index + 1 + partnersMax);
    const pair = pairFor(context, small, { partners, extraMax: budget });
    return pair === undefined ? [] : [pair];
  });
  const gone = new Set<PackBin>();
  const made: PackBin[] = [];
  let left = budget;
  for (const { small, into, joined, extra } of pairs.sort((a, b) => a.extra - b.extra)) {
    if (extra > left || gone.has(small) || gone.has(into)) continue;
    gone.add(small).add(into);
    made.push(joined);
    left -= Math.max(0, extra);
  }
  return made.length === 0 ? bins : [...bins.filter((bin) => !gone.has(bin)), ...made];
}

function joinWhile(
  context: PackContext,
  bins: readonly PackBin[],
  priceMax: number | undefined,
): readonly PackBin[] {
  let result = bins;
  for (let round = 0; round < roundsMax; round += 1) {
    const budget = priceMax === undefined ? 0 : Math.max(0, priceMax - totalPrice(result));
    const next = joinPairs(context, result, budget);
    if (next === result) break;
    result = next;
  }
  return result;
}

/** A packing with fewer nodes, and by how much it is dearer than the cheapest that is known. */
export type Fewer = { readonly bins: readonly PackBin[]; readonly dearer: number };

/**
 * Joins nodes, first where that costs no more. Then it joins others for at most `permille`
 * thousandths of the least price. The result has never more nodes.
 */
export function withFewerNodes(
  context: PackContext,
  bins: readonly PackBin[],
  permille: number,
): Fewer {
  if (permille <= 0) return { bins, dearer: 0 };
  const free = joinWhile(context, bins, undefined);
  const least = totalPrice(free);
  const fewer = joinWhile(context, free, priceWithin(least, permille));
  return { bins: fewer, dearer: Math.max(0, totalPrice(fewer) - least) };
}

/** Returns the highest price within `permille` thousandths of the least. */
export const priceWithin = (least: number, permille: number): number =>
  Math.floor(least * (1 + permille / 1000));
