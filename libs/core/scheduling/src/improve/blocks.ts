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
import type { Choices } from './choices.js';
import { combinationsFor } from './combinations.js';

/**
 * About so many nodes' worth of pods are packed together: enough for types to combine well, few
 * enough to try many.
 */
const nodesPerBlock = 5;
/** How many of them are chosen after the others: the last few make a combination cheap or dear. */
const nodesChosen = 2.5;
/**
 * By how much a block may cost more than its pods are worth, and how much room is left free, from
 * ambitious to easy.
 */
const attempts = [
  { spare: 1.004, slack: 1.0005 },
  { spare: 1.01, slack: 1.002 },
  { spare: 1.03, slack: 1.006 },
] as const;
/** Combinations tried in each attempt. */
const triesPerAttempt = 3;

/**
 * Kinds by the state that nodes are opened in for them; undefined when any of them is under
 * hostname rules.
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
 * What the room of a node is worth, on average over those that give nearly the most for their
 * price: good plans consist of them.
 */
function typicalWorth(context: PackContext, state: State): number {
  const rated = context
    .targets(state)
    .map(({ room, usable = room, price }) => ({
      worth: dot(context.duals, usable),
      ratio: dot(context.duals, usable) / Math.max(1, price),
    }));
  const best = rated.reduce((most, { ratio }) => Math.max(most, ratio), 0);
  const good = rated.filter(({ ratio }) => ratio >= best * 0.995);
  return good.reduce((sum, { worth }) => sum + worth, 0) / Math.max(1, good.length);
}

/**
 * Divides pods into blocks that are alike: of each kind about as many in each, the odd ones in
 * turn.
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
 * Of the nodes that would hold a demand best in fractions, all whole ones but a few, which are left
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
  what: { readonly state: State; readonly choices: Choices; readonly firstId: number },
): readonly PackBin[] | undefined {
  const { state, choices, firstId } = what;
  const demand = demandOf(portions, context.perUnit.length);
  const worth = dot(context.duals, demand);
  const targets = context.targets(state);
  const given = bulkOf(targets, demand);
  for (const { spare, slack } of attempts) {
    const limits = {
      countMin: 1,
      countMax: 5,
      priceMax: worth * spare * slack,
      visitsMax: 4000,
      keptMax: 16,
    };
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
      const bins = assemble(context, shells, portions, choices);
      if (bins !== undefined) return bins;
    }
  }
  return filledInTurn(context, portions);
}

/**
 * Pods that are large for their nodes do not add up as amounts do: then node after node is filled.
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
 * Packs pods without hostname rules block by block: each block gets the cheapest combination of
 * node types over which its pods can be divided. Takes a time in proportion to the pods; when
 * stopped, the rest goes where it fits first. Undefined where hostname rules matter.
 */
export function packBlocks(
  context: PackContext,
  what: { readonly choices: Choices; readonly shouldStop: () => boolean },
): readonly PackBin[] | undefined {
  const groups = byOpening(context);
  if (groups === undefined) return undefined;
  const bins: PackBin[] = [];
  const rest = new Int32Array(context.kinds.length);
  for (const [state, kinds] of groups) {
    for (const portions of blockList(context, kinds, state)) {
      const packed = what.shouldStop()
        ? undefined
        : packBlock(context, portions, { state, choices: what.choices, firstId: bins.length });
      if (packed === undefined)
        for (const { kind, count } of portions)
          rest[kind.index] = int32At(rest, kind.index) + count;
      else bins.push(...packed.map((bin, index) => ({ ...bin, id: bins.length + index })));
    }
  }
  const others = firstFitPack(context, Infinity, rest) ?? [];
  return [...bins, ...others.map((bin, index) => ({ ...bin, id: bins.length + index }))];
}
