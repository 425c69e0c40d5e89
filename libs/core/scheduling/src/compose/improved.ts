import { packBlocks } from '../improve/blocks.js';
import { RandomNumbers } from '../improve/random-numbers.js';
import { improve, type SearchLimits } from '../improve/search.js';
import { totalPrice } from '../pack/bins.js';
import { exhaustivePodsMax } from '../pack/exhaustive.js';
import { mergeSmallest } from '../pack/merge.js';
import type { PackBin } from '../pack/packing.js';
import type { World } from '../world/world.js';
import { drawnStart, hasDomains, leftIn, podsOf, type Start } from './start.js';

/** A start, its nodes after the search, and the steps of all searches. */
export type Improved = {
  readonly start: Start;
  readonly bins: readonly PackBin[];
  readonly steps: number;
};

/**
 * The steps of a search before another begins, from other nodes or with other random numbers.
 * Fewer steps try more starts. No measurement of other values is recorded.
 */
const stepsPerSearch = 400;

/** Whether the division of the pods over domains may be changed in the search. */
const isDivisible = (world: World, { exhausted }: Start): boolean =>
  !exhausted && hasDomains(world) && podsOf(world) <= exhaustivePodsMax;

function better(a: Improved, b: Omit<Improved, 'steps'>): Omit<Improved, 'steps'> {
  const difference = leftIn(b.start) - leftIn(a.start);
  return difference < 0 || (difference === 0 && totalPrice(b.bins) < totalPrice(a.bins)) ? b : a;
}

/**
 * From so many nodes on, a search begins with blocks. With fewer nodes there are hardly two blocks,
 * and the search finds as much from other nodes.
 */
const blockNodesMin = 12;

/**
 * Returns the nodes that a search begins with: packed block by block if the rules allow it. Blocks
 * have the types that the prices of resources ask for. They cost more at first than other nodes,
 * but a search seldom gets from other types to these, because it must exchange several at once.
 * Blocks count as a step. Those that the clock ended count for nothing, so that steps reproduce
 * plans.
 */
function searchable(
  { first: { context, bins } }: Start,
  { seed, stepsMax, shouldStop }: SearchLimits,
): { readonly bins: readonly PackBin[]; readonly steps: number } {
  if (stepsMax === 0 || bins.length < blockNodesMin || shouldStop()) return { bins, steps: 0 };
  if (totalPrice(bins) <= context.bound) return { bins, steps: 0 };
  const blocks = packBlocks(context, { random: new RandomNumbers(seed), shouldStop });
  if (blocks === undefined || shouldStop()) return { bins, steps: 0 };
  return { bins: mergeSmallest(context, blocks), steps: 1 };
}

/** Improves the first nodes of a start, or keeps them if the search finds none that are cheaper. */
function searched(start: Start, limits: SearchLimits): Improved {
  const { context, bins } = start.first;
  const first = searchable(start, limits);
  const found = improve(context, first.bins, {
    ...limits,
    stepsMax: limits.stepsMax - first.steps,
  });
  return {
    start,
    bins: totalPrice(found.bins) < totalPrice(bins) ? found.bins : bins,
    steps: first.steps + found.steps,
  };
}

/**
 * How the searches of a start follow each other. `once`: there is one, until the limits end it.
 * `again`: each ends when it is stale. `divided`: each ends after `stepsPerSearch`.
 */
type Sequel = 'once' | 'again' | 'divided';

/**
 * A search of few nodes is soon stale, and other random numbers often lead it elsewhere. Of 32
 * searches of 4,000 steps, with eight seeds on four plain worlds of 200 pods, nine ended more than
 * 1 % above the best. More nodes keep a search busy for as long as budgets last.
 */
function sequelOf(world: World, start: Start): Sequel {
  if (isDivisible(world, start)) return 'divided';
  return start.first.bins.length < blockNodesMin ? 'again' : 'once';
}

/** Whether no search can find cheaper nodes. Another division may still have cheaper ones. */
const isOver = ({ start, bins }: Improved, sequel: Sequel): boolean =>
  sequel !== 'divided' && totalPrice(bins) <= start.first.context.bound;

/**
 * Improves a start step by step. A step never moves a pod to another domain. Few nodes are searched
 * many times, in turn from the first nodes and from the best nodes so far, each time with other
 * random numbers. Few pods that spread over domains begin in turn from another division of them.
 * The beginning of a search counts as a step, and the clock ends no division.
 */
export function improvedStart(world: World, start: Start, limits: SearchLimits): Improved {
  const sequel = sequelOf(world, start);
  const limitsOf = (left: number): SearchLimits => ({
    ...limits,
    stepsMax: sequel === 'divided' ? Math.min(left, stepsPerSearch) : left,
    untilStale: sequel === 'again',
  });
  let best = searched(start, limitsOf(limits.stepsMax));
  if (sequel === 'once') return best;
  const random = new RandomNumbers(limits.seed);
  let { steps } = best;
  for (let turn = 1; steps < limits.stepsMax && !limits.shouldStop(); turn += 1) {
    if (isOver(best, sequel)) break;
    const isNew = turn % 2 === 1;
    const first = (): Start => (sequel === 'divided' ? drawnStart(world, random) : start);
    const other = isNew ? first() : best.start;
    steps += 1;
    const found = improve(other.first.context, isNew ? other.first.bins : best.bins, {
      ...limitsOf(limits.stepsMax - steps),
      seed: limits.seed + turn,
      stepsMin: 0,
    });
    steps += found.steps;
    best = { ...better(best, { start: other, bins: found.bins }), steps };
  }
  return { ...best, steps };
}
