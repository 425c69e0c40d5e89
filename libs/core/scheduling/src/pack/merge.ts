import { joinedBin } from './bins.js';
import { type PackBin, type PackContext } from './packing.js';

/**
 * The smallest nodes that are tried, and the other nodes that each is tried with. Higher numbers
 * may save another node and take more time.
 */
const smallestMax = 4;
const othersMax = 256;

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
      const bin = joinedBin(context, into, small);
      if (bin === undefined || bin.price > into.price + small.price) continue;
      result.splice(result.indexOf(small), 1);
      result[result.indexOf(into)] = bin;
      break;
    }
  }
  return result;
}
