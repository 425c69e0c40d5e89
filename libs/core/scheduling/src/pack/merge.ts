import { at } from '@dovetail/core-invariant';

import { copyOf, flexibleRoom, putKind, settle } from './bins.js';
import { type PackBin, type PackContext } from './packing.js';

/** How many of the smallest nodes are tried, and with how many others each. */
const smallestMax = 4;
const othersMax = 256;

/** A node with the contents of two, if rules allow that and it is no dearer than both. */
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
 * Puts the smallest nodes' pods on others where that costs no more: prices rise with size nearly in
 * proportion, so one larger node is as cheap as two, and every node less is one set of daemonsets
 * less.
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
