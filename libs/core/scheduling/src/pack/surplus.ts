import { at, int32At, numberAt } from '@dovetail/core-invariant';

import { totalPrice } from './bins.js';
import { filled, worthOf } from './fill.js';
import { type Fleet, greedyPack } from './greedy.js';
import { type PackBin, type PackContext, type Size } from './packing.js';

/** Nodes that could be spared, at most, for the others to take their pods. */
const surplusMax = 16;
/** How many of the smallest of the others may turn into such a node. */
const heirsMax = 4;

/** Pods by kind, as a supply to fill nodes from. */
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
 * The small node that takes most of a larger one's pods, and what it then is; undefined when none
 * takes any.
 */
function heirOf(
  context: PackContext,
  bin: PackBin,
  others: readonly PackBin[],
): readonly [PackBin, PackBin] | undefined {
  let best: readonly [PackBin, PackBin] | undefined;
  let most = 0;
  let tried = 0;
  for (const heir of others) {
    // Zones and the like must agree before it is worth trying.
    if (heir.state !== bin.state) continue;
    if (tried === heirsMax) break;
    tried += 1;
    const filling = filled(context, heir, {
      target: bin,
      supply: supplyOf(context, bin.contents),
      swapsMax: 2,
      evenly: true,
    });
    const gain = filling === undefined ? 0 : worthOf(context, filling) - worthOf(context, heir);
    if (filling !== undefined && gain > most) [best, most] = [[heir, filling], gain];
  }
  return best;
}

/**
 * Each node to be spared has an heir: a small one that turns into one of its type and takes as many
 * of its pods as fit beside its own.
 */
function inherited(
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
    const [heir, filling] = heirOf(context, bin, others) ?? [];
    if (heir === undefined || filling === undefined) continue;
    for (const [index, count] of filling.contents)
      left[index] = int32At(left, index) - count + (heir.contents.get(index) ?? 0);
    // It is full now: the next one to be spared needs another.
    others.splice(others.indexOf(heir), 1);
    others.push(filling);
  }
  return { bins: others.sort((a, b) => a.id - b.id), left, closed: true };
}

/** All nodes but those spared, and all pods of these. */
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
 * Where hostname rules decide how many nodes there must be, nodes without any pod under such a rule
 * are too many if the others can grow by their pods for no more: the others are there in any case,
 * each with a little room to spare.
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
  let best = bins;
  for (const fleet of [spread(context, bins, surplus), inherited(context, bins, surplus)]) {
    const grown = greedyPack(context, false, shouldStop, fleet);
    if (grown !== undefined && totalPrice(grown) <= totalPrice(best)) best = grown;
  }
  return best;
}
