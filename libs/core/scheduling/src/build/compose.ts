import type { World } from '../model/world.js';
import { improve } from '../improve/search.js';
import type { PackBin } from '../pack/bins.js';
import { packContextOf } from '../pack/context.js';
import { firstFitPack } from '../pack/first-fit.js';
import { greedyPack } from '../pack/greedy.js';
import { kindsOf } from '../pack/kinds.js';
import { assignAll } from './assign.js';
import { Engine } from './engine.js';
import { ItemTable } from './items.js';
import { replay } from './replay.js';
import { buildInSequence, placeRest, type Outcome } from './sequence.js';

const priceOf = (bins: readonly PackBin[]): number => bins.reduce((sum, bin) => sum + bin.price, 0);

/** The cheaper packing; of two equally dear ones the one with fewer nodes. */
function cheaper(a: readonly PackBin[] | undefined, b: readonly PackBin[] | undefined): readonly PackBin[] {
  if (a === undefined || b === undefined) return a ?? b ?? [];
  const difference = priceOf(b) - priceOf(a);
  return difference < 0 || (difference === 0 && b.length < a.length) ? b : a;
}

/**
 * Builds a plan: first what does not depend on new nodes, then the nodes, packed both greedily and first-fit, the cheaper
 * improved, and at last the pods that follow others onto a node. Where limits, reservations or minValues do not allow what
 * came out, classes are placed one by one instead, with those rules at every step.
 */
export function compose(world: World): Outcome & { readonly steps: number } {
  if (world.templates.some((template) => template.reserves)) return { ...buildInSequence(world), steps: 0 };
  const stop = world.options.shouldStop ?? (() => false);
  const base = new Engine(world);
  const table = new ItemTable();
  const { assigned, left } = assignAll(base, table);
  const kinds = kindsOf(world, assigned);
  const context = packContextOf(world, kinds, base.ledger.hostFloors);
  const greedy = greedyPack(context, stop);
  const first = cheaper(greedy, firstFitPack(context, greedy === undefined ? Infinity : priceOf(greedy)));
  const { bins, steps } = improve(context, first, { seed: world.options.seed, stepsMax: world.options.stepsMax, shouldStop: stop, bound: 0 });
  const engine = new Engine(world, base);
  if (!replay(engine, kinds, bins)) return { ...buildInSequence(world), steps: 0 };
  placeRest(engine, table, left);
  return { engine, left, steps };
}
