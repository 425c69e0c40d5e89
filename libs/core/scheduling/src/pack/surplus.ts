import { at, int32At, numberAt } from '@dovetail/core-invariant';

import { totalPrice } from './bins.js';
import { filled, worthOf } from './fill.js';
import { type Fleet, greedyPack } from './greedy.js';
import { type PackBin, type PackContext, type Size } from './packing.js';

/**
 * The most surplus nodes that are given up together. A higher limit tries more often in vain,
 * because the others have only a little room each.
 */
const surplusMax = 16;
/**
 * The price without the surplus nodes, as a multiple of that with them, up to which they are given
 * up. A higher limit saves more nodes and costs more.
 */
const priceMost = 1.002;
/**
 * The smallest other nodes that are tried as receivers of a surplus node. More may find a better
 * receiver and take more time.
 */
const receiversMax = 4;

/** Returns pods by kind as a supply for filling nodes. */
function supplyOf(
  context: PackContext,
  contents: ReadonlyMap<number, number>,
): { readonly left: Int32Array; readonly sizes: readonly Size[] } {
  const left = new Int32Array(context.kinds.length);
  for (const [index, count] of contents) left[index] = count;
  return {
    left,
    sizes: [...contents.keys()]
      .map((index) => at(context.sizes, index))
      .sort((a, b) => b.worth - a.worth || numberAt(a.kinds, 0) - numberAt(b.kinds, 0)),
  };
}

/**
 * Returns the small node that takes most of a larger node's pods, and the filled node that it turns
 * into. Undefined if no small node takes any.
 */
function receiverFor(
  context: PackContext,
  bin: PackBin,
  others: readonly PackBin[],
): readonly [PackBin, PackBin] | undefined {
  let best: readonly [PackBin, PackBin] | undefined;
  let most = 0;
  let tried = 0;
  for (const receiver of others) {
    // Only a node in the same state is tried, because zones and the like must agree.
    if (receiver.state !== bin.state) continue;
    if (tried === receiversMax) break;
    tried += 1;
    const filling = filled(context, receiver, {
      target: bin,
      supply: supplyOf(context, bin.contents),
      swapsMax: 2,
      evenly: true,
    });
    const gain = filling === undefined ? 0 : worthOf(context, filling) - worthOf(context, receiver);
    if (filling !== undefined && gain > most) [best, most] = [[receiver, filling], gain];
  }
  return best;
}

/**
 * Gives each surplus node a receiver: a small node that turns into one of its type and takes as
 * many of its pods as possible.
 */
function handedOver(
  context: PackContext,
  bins: readonly PackBin[],
  spared: ReadonlySet<PackBin>,
): Fleet {
  const others = bins
    .filter((bin) => !spared.has(bin))
    .sort((a, b) => a.price - b.price || a.id - b.id);
  const left = new Int32Array(context.kinds.length);
  for (const bin of spared) {
    for (const [index, count] of bin.contents) left[index] = int32At(left, index) + count;
    const [receiver, filling] = receiverFor(context, bin, others) ?? [];
    if (receiver === undefined || filling === undefined) continue;
    for (const [index, count] of filling.contents)
      left[index] = int32At(left, index) - count + (receiver.contents.get(index) ?? 0);
    // The receiver is full now, so the next surplus node needs another.
    others.splice(others.indexOf(receiver), 1);
    others.push(filling);
  }
  return { bins: others.sort((a, b) => a.id - b.id), left, closed: true };
}

/** Returns all nodes but the surplus ones, and all pods of these. */
function spread(
  context: PackContext,
  bins: readonly PackBin[],
  spared: ReadonlySet<PackBin>,
): Fleet {
  const counts = new Int32Array(context.kinds.length);
  for (const { contents } of spared)
    for (const [index, count] of contents) counts[index] = int32At(counts, index) + count;
  return { bins: bins.filter((bin) => !spared.has(bin)), left: counts, closed: true };
}

/**
 * Removes nodes that no hostname rule needs, if the other nodes can take their pods at hardly a
 * higher price. The other nodes exist in any case, because hostname rules decide their number, and
 * each has a little room to spare.
 */
export function withoutSurplus(
  context: PackContext,
  bins: readonly PackBin[],
  shouldStop: () => boolean,
): readonly PackBin[] {
  const limited = (bin: PackBin): boolean =>
    [...bin.contents.keys()].some((index) => Number.isFinite(context.kinds[index]?.perHost));
  const surplus = new Set(bins.filter((bin) => !limited(bin)));
  if (surplus.size === 0 || surplus.size > surplusMax || surplus.size === bins.length) return bins;
  const most = totalPrice(bins) * priceMost;
  // The second way takes as long as the first and rarely costs less.
  for (const fleetOf of [spread, handedOver]) {
    const grown = greedyPack(context, false, shouldStop, fleetOf(context, bins, surplus));
    if (grown !== undefined && totalPrice(grown) <= most) return grown;
  }
  return bins;
}
