import { at } from '@dovetail/core-invariant';

import { copyOf, flexibleRoom, putKind, settle } from './bins.js';
import { type PackBin, type PackContext } from './packing.js';

/**
 * The smallest nodes that are tried, and the other nodes that each is tried with. Higher numbers
 * may save another node and take more time.
 */
const smallestMax = 4;
const othersMax = 256;

/**
 * Returns a node with the contents of two; undefined if the rules forbid it or it is dearer than
 * both together.
 */
function merged(context: PackContext, into: PackBin, small: PackBin): PackBin | undefined {
  const bin = copyOf(into);
  for (const [index, count] of small.contents) {
    const kind = at(context.kinds, index);
    if (flexibleRoom(context, bin, kind) < count) return undefined;
    putKind(context, bin, kind, count);
  }
  return settle(bin) && bin.price <= into.price + small.price ? bin : undefined;
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
      const bin = merged(context, into, small);
      if (bin === undefined) continue;
      result.splice(result.indexOf(small), 1);
      result[result.indexOf(into)] = bin;
      break;
    }
  }
  return result;
}
