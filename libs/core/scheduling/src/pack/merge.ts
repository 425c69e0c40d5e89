import { float64At } from '@dovetail/core-invariant';

import { cheapestFor } from '../rooms/accounts.js';
import { joinedBin } from './bins.js';
import { type PackBin, type PackContext } from './packing.js';

/**
 * The smallest nodes that are tried, and the other nodes that each is tried with. Higher numbers
 * may save another node and take more time.
 */
const smallestMax = 4;
const othersMax = 256;

/**
 * Whether some offer for a node's state holds the pods of two nodes for at most a price. More pods
 * only narrow the state.
 */
function mayCost(into: PackBin, small: PackBin, priceMax: number): boolean {
  const used = into.used.map((amount, r) => amount + float64At(small.used, r));
  const offer = cheapestFor(into.state, { used, ports: into.ports });
  return offer !== undefined && offer.offering.priceMicrosPerHour <= priceMax;
}

/**
 * Moves the pods of the smallest nodes to others if that costs no more. Prices rise nearly in
 * proportion to size, so one larger node often costs as much as two. Each node less saves one set
 * of daemonsets.
 */
export function mergeSmallest(context: PackContext, bins: readonly PackBin[]): readonly PackBin[] {
  const result = [...bins];
  const smallest = [...bins]
    .sort((a, b) => a.price - b.price || a.pods - b.pods || a.id - b.id)
    .slice(0, smallestMax);
  for (const small of smallest) {
    const others = result.filter((bin) => bin !== small);
    if (others.length === result.length) continue;
    for (const into of others.slice(0, othersMax)) {
      if (!mayCost(into, small, into.price + small.price)) continue;
      const bin = joinedBin(context, into, small);
      if (bin === undefined || bin.price > into.price + small.price) continue;
      result.splice(result.indexOf(small), 1);
      result[result.indexOf(into)] = bin;
      break;
    }
  }
  return result;
}
