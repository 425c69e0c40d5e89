import { float64At, int32At } from '@dovetail/core-invariant';

import type { State } from '../match/states.js';
import { emptyBin } from '../pack/bins.js';
import { demandOf } from '../pack/context.js';
import { firstFitPack } from '../pack/first-fit.js';
import { greedyPack } from '../pack/greedy.js';
import type { Kind, Portion } from '../pack/kinds.js';
import { type PackBin, type PackContext, type Target } from '../pack/packing.js';
import { dot, resourcePrices } from '../pack/prices.js';
import { assemble } from './assemble.js';
import { combinationsFor } from './combinations.js';
import type { RandomNumbers } from './random-numbers.js';

/**
 * The number of average nodes whose pods form one block. Larger blocks combine types better;
 * smaller blocks allow more trials in the same time.
 */
const nodesPerBlock = 5;
/**
 * The number of these nodes that stay open to choice, because the last few decide how cheap a
 * combination is. More of them mean more combinations to search.
 */
const nodesChosen = 2.5;
/**
 * The attempts of a block, from ambitious to easy. `spare` is the highest price as a multiple of
 * the pods' worth. `slack` is the room to be found as a multiple of their requests. Later attempts
 * succeed more often and cost more.
 */
const attempts = [
  { spare: 1.004, slack: 1.0005 },
  { spare: 1.01, slack: 1.002 },
  { spare: 1.03, slack: 1.006 },
] as const;
/**
 * Combinations that are tried in each attempt. More of them succeed more often and take more time.
 */
const triesPerAttempt = 3;
/**
 * The limits of the search for a block's combinations: nodes to choose, sets to look at and
 * combinations to keep. Higher limits find cheaper combinations and take more time per block.
 */
const searchLimits = { countMin: 1, countMax: 5, visitsMax: 4000, keptMax: 16 } as const;
/**
 * Value for money counts as near the best from this share of the best. A lower share lets poorer
 * types decide the size of a block.
 */
const nearBest = 0.995;

/**
 * Groups kinds by the state in which their nodes open; undefined if some kind is under hostname
 * rules.
 */
function byOpening(context: PackContext): ReadonlyMap<State, readonly Kind[]> | undefined {
  const groups = new Map<State, Kind[]>();
  for (const kind of context.kinds) {
    const [opening] = kind.openings;
    if (!kind.plain || opening === undefined) return undefined;
    const known = groups.get(opening);
    if (known === undefined) groups.set(opening, [kind]);
    else known.push(kind);
  }
  return groups;
}

/**
 * Returns the average worth of the rooms that give nearly the most for their price. Good plans
 * consist of such nodes.
 */
function typicalWorth(context: PackContext, state: State): number {
  const rated = context
    .targets(state)
    .map(({ room, usable = room, price }) => ({
      worth: dot(context.duals, usable),
      ratio: dot(context.duals, usable) / Math.max(1, price),
    }));
  const best = rated.reduce((most, { ratio }) => Math.max(most, ratio), 0);
  const good = rated.filter(({ ratio }) => ratio >= best * nearBest);
  return good.reduce((sum, { worth }) => sum + worth, 0) / Math.max(1, good.length);
}

/**
 * Divides pods into similar blocks. Each kind is divided equally, and the remaining pods go to the
 * blocks in turn.
 */
function blocksOf(
  context: PackContext,
  kinds: readonly Kind[],
  blocks: number,
): readonly (readonly Portion[])[] {
  const made: Portion[][] = Array.from({ length: blocks }, () => []);
  const sorted = [...kinds].sort(
    (a, b) =>
      float64At(context.worth, b.index) - float64At(context.worth, a.index) || a.index - b.index,
  );
  let turn = 0;
  for (const kind of sorted) {
    const each = Math.floor(kind.count / blocks);
    const odd = kind.count % blocks;
    for (let block = 0; block < blocks; block += 1) {
      const count = each + ((block - turn + blocks) % blocks < odd ? 1 : 0);
      if (count > 0) made[block]?.push({ kind, count });
    }
    turn = (turn + odd) % blocks;
  }
  return made;
}

/**
 * Returns the nodes of the best fractional solution in whole numbers, without the few that are left
 * to choose.
 */
function bulkOf(targets: readonly Target[], demand: Float64Array): readonly Target[] {
  const { nodes } = resourcePrices(
    targets.map(({ room, usable = room, price }) => ({ room: usable, price })),
    demand,
  );
  const all = nodes.reduce((sum, count) => sum + count, 0);
  const share = Math.max(0, 1 - nodesChosen / all);
  return targets.flatMap((target, index) =>
    Array.from({ length: Math.floor(float64At(nodes, index) * share) }, () => target),
  );
}

function packBlock(
  context: PackContext,
  portions: readonly Portion[],
  what: { readonly state: State; readonly random: RandomNumbers; readonly firstId: number },
): readonly PackBin[] | undefined {
  const { state, random, firstId } = what;
  const demand = demandOf(portions, context.perUnit.length);
  const worth = dot(context.duals, demand);
  const targets = context.targets(state);
  const given = bulkOf(targets, demand);
  for (const { spare, slack } of attempts) {
    const limits = { ...searchLimits, priceMax: worth * spare * slack };
    const combinations = combinationsFor(targets, {
      demand: demand.map((amount) => amount * slack),
      given,
      perUnit: context.duals,
      limits,
    });
    for (const combination of combinations.slice(0, triesPerAttempt)) {
      const shells = combination.targets.map((target, index) => ({
        bin: emptyBin(context, firstId + index, state),
        target,
      }));
      const bins = assemble(context, shells, portions, random);
      if (bins !== undefined) return bins;
    }
  }
  return filledInTurn(context, portions);
}

/**
 * Fills node after node. Blocks of pods that are large for their nodes need this, because such pods
 * do not add up like amounts.
 */
function filledInTurn(
  context: PackContext,
  portions: readonly Portion[],
): readonly PackBin[] | undefined {
  const left = new Int32Array(context.kinds.length);
  for (const { kind, count } of portions) left[kind.index] = count;
  return greedyPack(context, true, () => false, { bins: [], left, closed: false });
}

function blockList(
  context: PackContext,
  kinds: readonly Kind[],
  state: State,
): readonly (readonly Portion[])[] {
  const worth = kinds.reduce(
    (sum, kind) => sum + float64At(context.worth, kind.index) * kind.count,
    0,
  );
  const perBlock = typicalWorth(context, state) * nodesPerBlock;
  return blocksOf(context, kinds, perBlock > 0 ? Math.max(1, Math.round(worth / perBlock)) : 1);
}

/**
 * Packs pods block by block. Each block gets the cheapest combination of node types over which its
 * pods can be divided. The time grows in proportion to the pods. After a stop, the remaining pods
 * are packed first-fit. The result is undefined if hostname rules apply.
 */
export function packBlocks(
  context: PackContext,
  what: { readonly random: RandomNumbers; readonly shouldStop: () => boolean },
): readonly PackBin[] | undefined {
  const groups = byOpening(context);
  if (groups === undefined) return undefined;
  const bins: PackBin[] = [];
  const rest = new Int32Array(context.kinds.length);
  for (const [state, kinds] of groups) {
    for (const portions of blockList(context, kinds, state)) {
      const packed = what.shouldStop()
        ? undefined
        : packBlock(context, portions, { state, random: what.random, firstId: bins.length });
      if (packed === undefined)
        for (const { kind, count } of portions)
          rest[kind.index] = int32At(rest, kind.index) + count;
      else bins.push(...packed.map((bin, index) => ({ ...bin, id: bins.length + index })));
    }
  }
  const others = firstFitPack(context, Infinity, rest) ?? [];
  return [...bins, ...others.map((bin, index) => ({ ...bin, id: bins.length + index }))];
}
