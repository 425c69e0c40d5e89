import type { PackBin, PackContext } from './bins.js';
import { greedyPack } from './greedy.js';

/** Nodes that could be spared, at most, for the others to take their pods. */
const surplusMax = 16;

const priceOf = (bins: readonly PackBin[]): number => bins.reduce((sum, bin) => sum + bin.price, 0);

/**
 * Where hostname rules decide how many nodes there must be, nodes without any pod under such a rule are one too many if the others
 * can grow by their pods for no more: the others are there in any case, each with a little room to spare.
 */
export function withoutSurplus(context: PackContext, bins: readonly PackBin[], shouldStop: () => boolean): readonly PackBin[] {
  const limited = (bin: PackBin): boolean => [...bin.contents.keys()].some((index) => Number.isFinite(context.kinds[index]?.perHost));
  const surplus = new Set(bins.filter((bin) => !limited(bin)));
  if (surplus.size === 0 || surplus.size > surplusMax || surplus.size === bins.length) return bins;
  const left = new Int32Array(context.kinds.length);
  for (const { contents } of surplus) for (const [index, count] of contents) left[index] = (left[index] as number) + count;
  const grown = greedyPack(context, false, shouldStop, { bins: bins.filter((bin) => !surplus.has(bin)), left, closed: true });
  return grown !== undefined && priceOf(grown) <= priceOf(bins) ? grown : bins;
}
