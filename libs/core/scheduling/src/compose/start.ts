import { packBlocks } from '../improve/blocks.js';
import { RandomNumbers } from '../improve/random-numbers.js';
import { type Balanced, balancedPack, type Standing } from '../pack/balanced.js';
import { totalPrice } from '../pack/bins.js';
import { packContextOf } from '../pack/context.js';
import { exhaustivePack, exhaustivePodsMax } from '../pack/exhaustive.js';
import { firstFitPack } from '../pack/first-fit.js';
import { greedyPack } from '../pack/greedy.js';
import { type Kind, kindsOf } from '../pack/kinds.js';
import { mergeSmallest } from '../pack/merge.js';
import { type PackBin, type PackContext } from '../pack/packing.js';
import { withoutSurplus } from '../pack/surplus.js';
import { withTrades } from '../pack/trades.js';
import type { DomainPreference } from '../rooms/domain-room.js';
import { Engine } from '../rooms/engine.js';
import { ItemTable } from '../rooms/items.js';
import type { World } from '../world/world.js';
import { assignAll } from './assign.js';
import type { Outcome } from './sequence.js';

/** Returns the cheaper packing, or the one with fewer nodes if both cost the same. */
function cheaper(
  a: readonly PackBin[] | undefined,
  b: readonly PackBin[] | undefined,
): readonly PackBin[] {
  if (a === undefined || b === undefined) return a ?? b ?? [];
  const difference = totalPrice(b) - totalPrice(a);
  return difference < 0 || (difference === 0 && b.length < a.length) ? b : a;
}

/**
 * Plans of at most this many pods are placed again, one by one, when some pod finds no place. The
 * number trades the time of a second plan for the chance that it places more pods.
 */
export const rescuePodsMax = 5000;

/** Returns the number of pods without a place. */
export const leftIn = ({ left }: Pick<Outcome, 'left'>): number =>
  left.reduce((sum, count) => sum + count, 0);

/** Returns the number of pods of a world. */
export const podsOf = (world: World): number =>
  world.classes.reduce((sum, cls) => sum + cls.uids.length, 0);

/**
 * Up to `evenKindsMax` kinds, nodes are filled evenly without trying blocks; up to `bothKindsMax`,
 * both ways of filling are compared. The numbers trade time for the chance that another way is
 * cheaper.
 */
const evenKindsMax = 1500;
const bothKindsMax = 100;

/**
 * Packs block by block if the rules allow it, in time proportional to the pods; otherwise node by
 * node, evenly.
 */
function largePacking(
  context: PackContext,
  what: { readonly seed: number; readonly stop: () => boolean },
): readonly PackBin[] | undefined {
  return (
    packBlocks(context, { random: new RandomNumbers(what.seed), shouldStop: what.stop }) ??
    greedyPack(context, true, what.stop)
  );
}

/** Packs node by node: evenly, with the most valuable pods first, or both. */
function smallPacking(context: PackContext, stop: () => boolean): readonly PackBin[] | undefined {
  // The even packing is never interrupted, so a late plan has one packing at least.
  const evenly = greedyPack(context, true, () => false);
  const byWorth =
    context.kinds.length > bothKindsMax && evenly !== undefined
      ? undefined
      : greedyPack(context, false, stop);
  return evenly === undefined && byWorth === undefined ? undefined : cheaper(evenly, byWorth);
}

/** Returns the cheapest of the packings that are worth building for this number of kinds. */
function firstPacking(
  context: PackContext,
  what: { readonly seed: number; readonly stop: () => boolean },
): readonly PackBin[] {
  const built =
    context.kinds.length > evenKindsMax
      ? largePacking(context, what)
      : smallPacking(context, what.stop);
  return cheaper(built, firstFitPack(context, built === undefined ? Infinity : totalPrice(built)));
}

/** Returns the fewest selected pods of a group on any existing node, full nodes included. */
function standingOf(base: Engine): Standing {
  const mine = new Map(base.existing.map((bin) => [bin.room?.node.uid, bin.hosts]));
  const { snapshot, standings } = base.world;
  const hosts = snapshot.nodes.map(({ uid }) => mine.get(uid) ?? standings.hosts.get(uid));
  return (group) =>
    hosts.reduce(
      (least, tallies) => Math.min(least, tallies?.get(group.id)?.selected ?? 0),
      Infinity,
    );
}

/**
 * Returns the cheaper of two packings. One gives each pod of a hostname spread its own node; the
 * other gives each node its share of the pods.
 */
function startOf(
  base: Engine,
  context: PackContext,
  what: { readonly stop: () => boolean; readonly complete: boolean },
): Balanced {
  const { options } = base.world;
  const packed = firstPacking(context, { seed: options.seed, stop: what.stop });
  const bins = withTrades(
    context,
    withoutSurplus(context, mergeSmallest(context, packed), what.stop),
  );
  // Pods that follow others onto a node are placed later and would exceed the shares.
  const shareable = what.complete && options.hostnameSpread === 'balanced';
  const balanced = shareable
    ? balancedPack(context, {
        nodes: bins.length,
        standing: standingOf(base),
        shouldStop: what.stop,
      })
    : undefined;
  return balanced !== undefined && cheaper(bins, balanced.bins) === balanced.bins
    ? balanced
    : { context, bins };
}

/** The decisions after domains are assigned, and the first nodes for them. */
export type Start = {
  readonly base: Engine;
  readonly table: ItemTable;
  readonly left: number[];
  readonly kinds: readonly Kind[];
  readonly first: Balanced;
  /** Whether all ways to pack the new nodes were compared. */
  readonly exhausted: boolean;
};

/**
 * Whether no time is spent on going through all ways to pack few pods. A plan that fills existing
 * nodes is one of many that are compared, and the few nodes that it buys matter little.
 */
const isQuick = ({ options }: World): boolean => options.existingNodes === 'filled';

function started(
  world: World,
  preference: DomainPreference,
  what: { readonly stop: () => boolean; readonly thorough: boolean },
): Start {
  const { stop, thorough } = what;
  const base = new Engine(world);
  const table = new ItemTable();
  const { assigned, left } = assignAll(base, table, preference);
  const kinds = kindsOf(world, assigned);
  const context = packContextOf(world, kinds, base.ledger.hostFloors);
  const first = startOf(base, context, { stop, complete: left.every((count) => count === 0) });
  // The clock may only end what counts as a step, or else steps would not reproduce the plan.
  const least = isQuick(world)
    ? undefined
    : exhaustivePack(context, { thorough, shouldStop: thorough ? stop : () => false });
  const bins = cheaper(first.bins, least);
  return {
    base,
    table,
    left,
    kinds,
    first: bins === first.bins ? first : { context, bins },
    exhausted: least !== undefined,
  };
}

/** Whether the rules of some spread leave open how many of its pods a domain gets. */
const hasSlack = ({ classes }: World): boolean =>
  classes.some((cls) =>
    cls.levels.some(({ carries }) =>
      carries.some(({ kind, onHost, maxSkew }) => kind === 'spread' && !onHost && maxSkew > 1),
    ),
  );

/** Returns the start that places more pods, or the cheaper one if both place as many. */
function betterStart(a: Start, b: Start): Start {
  const difference = leftIn(b) - leftIn(a);
  return difference < 0 ||
    (difference === 0 && cheaper(a.first.bins, b.first.bins) === b.first.bins)
    ? b
    : a;
}

/** Whether pods spread over domains other than hosts. Other divisions of them may be cheaper. */
export const hasDomains = ({ classes }: World): boolean =>
  classes.some((cls) =>
    cls.levels.some(({ carries }) =>
      carries.some(({ kind, onHost }) => kind === 'spread' && !onHost),
    ),
  );

/**
 * The cheaper start of pods that spread evenly and, where the skew is more than 1, of pods that
 * prefer the cheapest domains.
 */
export function cheaperStart(world: World, stop: () => boolean): Start {
  const even = started(world, 'emptiest', { stop, thorough: false });
  return hasSlack(world) && podsOf(world) <= rescuePodsMax
    ? betterStart(even, started(world, 'cheapest', { stop, thorough: false }))
    : even;
}

/** Returns a start whose pods are divided over domains at random, within what the rules allow. */
export const drawnStart = (world: World, random: RandomNumbers): Start =>
  started(
    world,
    { draw: (below: number) => random.below(below) },
    { stop: () => false, thorough: false },
  );

/**
 * Divisions over domains that are drawn at random for few pods. More of them may find a cheaper one
 * and take more time, about that of a first plan each.
 */
const drawsMax = 12;

/**
 * Returns the best of some other starts of few pods, and their number. One goes through the ways to
 * pack them once more, for longer. The others divide the pods over domains at random. Each
 * counts as a step, and one that the clock ended counts for nothing, so that steps reproduce plans.
 */
export function redrawn(
  world: World,
  first: Start,
  stop: () => boolean,
): { readonly start: Start; readonly steps: number } {
  const { seed, stepsMax } = world.options;
  const random = new RandomNumbers(seed);
  const anyDomain = { draw: (below: number) => random.below(below) };
  let start = first;
  let { exhausted } = first;
  let steps = 0;
  if (podsOf(world) > exhaustivePodsMax || isQuick(world)) return { start, steps };
  while (steps < Math.min(stepsMax, 1 + drawsMax) && !stop()) {
    if (exhausted ? !hasDomains(world) : steps > 0) break;
    const other = started(world, exhausted ? anyDomain : 'emptiest', { stop, thorough: true });
    if (stop()) break;
    exhausted ||= other.exhausted;
    start = betterStart(start, other);
    steps += 1;
  }
  return { start, steps };
}
