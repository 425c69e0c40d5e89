import { RandomNumbers } from '../improve/random-numbers.js';
import { improve, type SearchLimits } from '../improve/search.js';
import { totalPrice } from '../pack/bins.js';
import { exhaustivePodsMax } from '../pack/exhaustive.js';
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
 * Improves a start step by step. A step never moves a pod to another domain. Few pods that spread
 * over domains are therefore searched many times, in turn from another division of them and from
 * the best nodes so far. Making a division counts as a step, and the clock ends no division.
 */
export function improvedStart(world: World, start: Start, limits: SearchLimits): Improved {
  const divisible = isDivisible(world, start);
  const stepsOf = (left: number): number => (divisible ? Math.min(left, stepsPerSearch) : left);
  const { context, bins } = start.first;
  let best: Improved = {
    start,
    ...improve(context, bins, { ...limits, stepsMax: stepsOf(limits.stepsMax) }),
  };
  if (!divisible) return best;
  const random = new RandomNumbers(limits.seed);
  let { steps } = best;
  for (let turn = 1; steps < limits.stepsMax && !limits.shouldStop(); turn += 1) {
    const isNew = turn % 2 === 1;
    const other = isNew ? drawnStart(world, random) : best.start;
    steps += 1;
    const found = improve(other.first.context, isNew ? other.first.bins : best.bins, {
      ...limits,
      seed: limits.seed + turn,
      stepsMin: 0,
      stepsMax: stepsOf(limits.stepsMax - steps),
    });
    steps += found.steps;
    best = { ...better(best, { start: other, bins: found.bins }), steps };
  }
  return { ...best, steps };
}
