import { numberAt } from '@dovetail/core-invariant';

import { packBlocks } from '../improve/blocks.js';
import { RandomNumbers } from '../improve/random-numbers.js';
import { improve } from '../improve/search.js';
import { type Balanced, balancedPack, type Standing } from '../pack/balanced.js';
import { totalPrice } from '../pack/bins.js';
import { packContextOf } from '../pack/context.js';
import { priceWithin, withFewerNodes } from '../pack/fewer-nodes.js';
import { firstFitPack } from '../pack/first-fit.js';
import { greedyPack } from '../pack/greedy.js';
import { type Kind, kindsOf } from '../pack/kinds.js';
import { mergeSmallest } from '../pack/merge.js';
import { type PackBin, type PackContext } from '../pack/packing.js';
import { withoutSurplus } from '../pack/surplus.js';
import type { DomainPreference } from '../rooms/domain-room.js';
import { Engine } from '../rooms/engine.js';
import { ItemTable } from '../rooms/items.js';
import { isAssuming, unassumed, unsized, type World } from '../world/world.js';
import { assignAll } from './assign.js';
import { replay } from './replay.js';
import { buildInSequence, type Manner, type Outcome, placeRest } from './sequence.js';

/** Returns the cheaper packing, or the one with fewer nodes if both cost the same. */
function cheaper(
  a: readonly PackBin[] | undefined,
  b: readonly PackBin[] | undefined,
): readonly PackBin[] {
  if (a === undefined || b === undefined) return a ?? b ?? [];
  const difference = totalPrice(b) - totalPrice(a);
  return difference < 0 || (difference === 0 && b.length < a.length) ? b : a;
}

/** An outcome, and by how much its new nodes are dearer than the cheapest that were found. */
type Composed = Outcome & { readonly steps: number; readonly dearer: number };

/**
 * Plans of at most this many pods are always placed one by one as well. The number trades the time
 * of a second plan for the chance that it is cheaper.
 */
const sequencePodsMax = 256;
/**
 * Plans of at most this many pods are placed again, one by one, when some pod finds no place. The
 * number trades the time of a second plan for the chance that it places more pods.
 */
const rescuePodsMax = 5000;

const leftIn = ({ left }: Pick<Outcome, 'left'>): number =>
  left.reduce((sum, count) => sum + count, 0);
const dollarsOf = ({ engine }: Outcome): number =>
  engine.fresh.reduce((sum, bin) => sum + engine.priceOf(bin), 0);

/**
 * Returns the outcome that places more pods. If both place as many, it returns the one with fewer
 * nodes, unless that one is too much dearer than the least price found; then the cheaper one.
 */
function better(a: Composed, b: Composed): Composed {
  const difference = leftIn(a) - leftIn(b);
  if (difference !== 0) return difference > 0 ? b : a;
  const [priceOfA, priceOfB] = [dollarsOf(a), dollarsOf(b)];
  const { fewerNodesPermille: permille } = a.engine.world.options;
  const most = priceWithin(Math.min(priceOfA - a.dearer, priceOfB - b.dearer), permille);
  if (Math.max(priceOfA, priceOfB) > most) return priceOfB < priceOfA ? b : a;
  const fewer = b.engine.fresh.length - a.engine.fresh.length || priceOfB - priceOfA;
  return fewer < 0 ? b : a;
}

const podsOf = (world: World): number =>
  world.classes.reduce((sum, cls) => sum + cls.uids.length, 0);
const leavesPlaceable = (world: World, { left }: Outcome): boolean =>
  world.classes.some((cls) => cls.levels.length > 0 && numberAt(left, cls.index) > 0);

/**
 * Builds a plan. If pods are left over and new nodes count some pods as more than their requests,
 * it builds a second plan by the requests alone and returns it if it places more pods.
 */
export function compose(world: World): Composed {
  const counted = composeSized(world);
  if (!isAssuming(world) || !leavesPlaceable(world, counted)) return counted;
  const plain = composeSized(unassumed(world));
  return leftIn(plain) < leftIn(counted) ? plain : counted;
}

/**
 * Builds a plan, with nodes sized by the types that the templates name. If pods are left over, it
 * builds a second plan with every type and returns it if it places more pods.
 */
function composeSized(world: World): Composed {
  const sized = composeOnce(world);
  if (
    !world.templates.some((template) => template.sizes !== undefined) ||
    podsOf(world) > rescuePodsMax ||
    !leavesPlaceable(world, sized)
  )
    return sized;
  const every = composeOnce(unsized(world));
  return leftIn(every) < leftIn(sized) ? every : sized;
}

/**
 * Builds one plan. First it settles the pods that do not depend on new nodes. Then it packs the new
 * nodes and improves the cheapest packing. Last it places pods that follow others onto a node.
 * Small plans, and plans that leave pods out, are compared with `buildInSequence`, which places
 * classes in Karpenter's order. The result of `buildInSequence` is also used if limits,
 * reservations or minValues do not allow the packing.
 */
function composeOnce(world: World): Composed {
  const packed = world.templates.some((template) => template.reserves)
    ? undefined
    : composePacked(world);
  const pods = podsOf(world);
  if (packed === undefined) return composeInSequence(world);
  return pods <= sequencePodsMax || (leavesPlaceable(world, packed) && pods <= rescuePodsMax)
    ? better(packed, composeInSequence(world))
    : packed;
}

/**
 * Returns the best of several ways of placing classes one by one. The first is Karpenter's. The
 * second joins a node only where that is no dearer than another node. The others are tried only if
 * pods are left out: they place the classes of these pods first, and ignore preferences.
 */
function composeInSequence(world: World): Composed {
  const built = (manner?: Manner): Composed => ({
    ...buildInSequence(world, manner),
    steps: 0,
    dearer: 0,
  });
  let best = built();
  if (podsOf(world) <= sequencePodsMax)
    best = better(best, built({ joining: 'thrifty', preferences: 'tried' }));
  // Only more pods count here: with as many others, smaller pods would displace larger ones.
  const rescued = (manner: Manner): void => {
    if (podsOf(world) > rescuePodsMax || !leavesPlaceable(world, best)) return;
    const other = built(manner);
    if (leftIn(other) < leftIn(best)) best = other;
  };
  const first = new Set([...best.left.keys()].filter((index) => numberAt(best.left, index) > 0));
  rescued({ joining: 'always', preferences: 'tried', first });
  rescued({ joining: 'always', preferences: 'ignored' });
  return best;
}

/**
 * Up to `evenKindsMax` kinds, nodes are filled evenly; up to `bothKindsMax`, both ways of filling
 * are compared. The numbers trade time for the chance that another way is cheaper.
 */
const evenKindsMax = 1500;
const bothKindsMax = 100;

/**
 * Packs block by block if the rules allow it, in time proportional to the pods; otherwise node by
 * node.
 */
function largePacking(
  context: PackContext,
  what: { readonly seed: number; readonly stop: () => boolean },
): readonly PackBin[] | undefined {
  return (
    packBlocks(context, { random: new RandomNumbers(what.seed), shouldStop: what.stop }) ??
    greedyPack(context, false, what.stop)
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
  const bins = withoutSurplus(
    context,
    mergeSmallest(context, firstPacking(context, { seed: options.seed, stop: what.stop })),
    what.stop,
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
type Start = {
  readonly base: Engine;
  readonly table: ItemTable;
  readonly left: number[];
  readonly kinds: readonly Kind[];
  readonly first: Balanced;
};

function started(world: World, preference: DomainPreference, stop: () => boolean): Start {
  const base = new Engine(world);
  const table = new ItemTable();
  const { assigned, left } = assignAll(base, table, preference);
  const kinds = kindsOf(world, assigned);
  const context = packContextOf(world, kinds, base.ledger.hostFloors);
  const first = startOf(base, context, { stop, complete: left.every((count) => count === 0) });
  return { base, table, left, kinds, first };
}

/** Whether the rules of some spread leave open how many of its pods a domain gets. */
const hasSlack = ({ classes }: World): boolean =>
  classes.some((cls) =>
    cls.levels.some(({ carries }) =>
      carries.some(({ kind, onHost, maxSkew }) => kind === 'spread' && !onHost && maxSkew > 1),
    ),
  );

/**
 * The cheaper start of pods that spread evenly and, where the skew is more than 1, of pods that
 * prefer the cheapest domains.
 */
function cheaperStart(world: World, stop: () => boolean): Start {
  const even = started(world, 'emptiest', stop);
  if (!hasSlack(world) || podsOf(world) > rescuePodsMax) return even;
  const uneven = started(world, 'cheapest', stop);
  const difference = leftIn(uneven) - leftIn(even);
  return difference < 0 ||
    (difference === 0 && cheaper(even.first.bins, uneven.first.bins) === uneven.first.bins)
    ? uneven
    : even;
}

/**
 * Plans of few nodes are always improved a little, also when the clock says that the time is over.
 * On a busy machine the first plan alone may take the whole budget. A step on so few nodes takes
 * some tenths of a millisecond.
 */
const smallBinsMax = 8;
const smallStepsMin = 100;

function composePacked(world: World): Composed | undefined {
  const stopAt = (nodes: number): boolean => world.options.shouldStop?.(nodes) === true;
  const { base, table, left, kinds, first } = cheaperStart(world, () => stopAt(0));
  const limits = {
    seed: world.options.seed,
    stepsMax: world.options.stepsMax,
    stepsMin: first.bins.length <= smallBinsMax ? smallStepsMin : 0,
    shouldStop: () => stopAt(first.bins.length),
  };
  const { bins, steps } = improve(first.context, first.bins, limits);
  const fewer = withFewerNodes(first.context, bins, world.options.fewerNodesPermille);
  // Limits may allow the nodes and forbid those that they are joined to.
  for (const packing of [fewer, { bins, dearer: 0 }]) {
    const engine = new Engine(world, base);
    if (!replay(engine, kinds, packing.bins)) continue;
    placeRest(engine, table, left);
    return { engine, left, steps, dearer: packing.dearer };
  }
  return undefined;
}
