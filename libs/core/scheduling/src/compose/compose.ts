import { numberAt } from '@dovetail/core-invariant';

import { RandomNumbers } from '../improve/random-numbers.js';
import { totalPrice } from '../pack/bins.js';
import { type Fewer, priceWithin, withFewerNodes } from '../pack/fewer-nodes.js';
import { Engine } from '../rooms/engine.js';
import { isAssuming, unassumed, unsized, type World } from '../world/world.js';
import { improvedStart } from './improved.js';
import { replay } from './replay.js';
import { buildInSequence, type Manner, type Outcome, placeRest } from './sequence.js';
import { cheaperStart, leftIn, podsOf, redrawn, rescuePodsMax } from './start.js';

/** An outcome, and by how much its new nodes are dearer than the cheapest that were found. */
type Composed = Outcome & { readonly steps: number; readonly dearer: number };

/**
 * Plans of at most this many pods are always placed one by one as well. The number trades the time
 * of a second plan for the chance that it is cheaper.
 */
const sequencePodsMax = 256;
/**
 * The most classes with pods left out of which each is also placed first alone. Each costs the time
 * of another plan.
 */
const rescuesMax = 6;
/**
 * A plan of at most so many pods, in a cluster of at most so many nodes, is also placed in some
 * orders that are drawn. Larger ones would take much longer for it.
 */
const drawnPodsMax = 64;
const drawnNodesMax = 64;
/**
 * The orders that are drawn. Each costs the time of another plan. Of 24 small worlds that no order
 * by size placed well, 16 draws found a better plan of 23, and 32 draws of all.
 */
const drawsMax = 32;
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

/** Returns by how many steps the pods of an outcome gave up preferences and alternatives. */
const givenUp = ({ engine }: Outcome): number =>
  [...engine.existing, ...engine.fresh].reduce((sum, { contents }) => {
    for (const [item, count] of contents) sum += item.level * count;
    return sum;
  }, 0);

/** Returns by how much the pools of an outcome are lighter than the heaviest, over all its pods. */
function lightness({ engine }: Outcome): number {
  const heaviest = Math.max(...engine.world.templates.map(({ pool }) => pool.weight));
  return engine.fresh.reduce(
    (sum, { state, pods }) => sum + pods * (heaviest - (state?.template.pool.weight ?? heaviest)),
    0,
  );
}

/**
 * Whether an outcome places more pods than another. If it leaves out the same pods, it must keep as
 * many preferences and use pools as heavy.
 */
function isNoWorse(a: Outcome, b: Outcome): boolean {
  if (leftIn(a) !== leftIn(b)) return leftIn(a) < leftIn(b);
  return (
    a.left.every((count, index) => count === b.left[index]) &&
    givenUp(a) <= givenUp(b) &&
    lightness(a) <= lightness(b)
  );
}

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
 * pods are left out: they place the classes of these pods first, all or one of them, and ignore
 * preferences. Small plans are placed in some drawn orders as well.
 */
function composeInSequence(world: World): Composed {
  const built = (manner?: Manner): Composed => inSequence(world, manner);
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
  if (podsOf(world) <= sequencePodsMax && first.size <= rescuesMax)
    for (const index of first)
      rescued({ joining: 'always', preferences: 'tried', first: new Set([index]) });
  return drawnInSequence(world, best);
}

const inSequence = (world: World, manner?: Manner): Composed => ({
  ...buildInSequence(world, manner),
  steps: 0,
  dearer: 0,
});

/**
 * Returns the best of an outcome and of some that are placed in a drawn order. Rules between pods
 * make the order decide which domains stay open and which nodes the pods share, and no single order
 * is best. Preferences are given up only to place more pods.
 */
function drawnInSequence(world: World, first: Composed): Composed {
  const isSmall = podsOf(world) <= drawnPodsMax && world.nodes.length <= drawnNodesMax;
  const isPerfect = first.engine.fresh.length === 0 && !leavesPlaceable(world, first);
  if (!isSmall || isPerfect) return first;
  const random = new RandomNumbers(world.options.seed);
  let best = first;
  for (let draw = 0; draw < drawsMax; draw += 1) {
    const other = inSequence(world, {
      joining: draw % 2 === 0 ? 'always' : 'thrifty',
      preferences: draw % 4 < 2 ? 'tried' : 'ignored',
      random,
    });
    if (isNoWorse(other, best)) best = better(best, other);
  }
  return best;
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
  const stop = (): boolean => stopAt(0);
  const { start, steps: redraws } = redrawn(world, cheaperStart(world, stop), stop);
  const found = improvedStart(world, start, {
    seed: world.options.seed,
    stepsMax: world.options.stepsMax - redraws,
    stepsMin: start.first.bins.length <= smallBinsMax ? smallStepsMin : 0,
    shouldStop: () => stopAt(start.first.bins.length),
  });
  const { base, table, left, kinds, first } = found.start;
  const { bins, steps } = found;
  const fewer = withFewerNodes(first.context, bins, world.options.fewerNodesPermille);
  const built = (packing: Fewer): Composed | undefined => {
    const engine = new Engine(world, base);
    if (!replay(engine, kinds, packing.bins)) return undefined;
    const rest = [...left];
    placeRest(engine, table, rest);
    return { engine, left: rest, steps: redraws + steps, dearer: packing.dearer };
  };
  const joined = built(fewer);
  if (fewer.bins === bins || (joined !== undefined && isWhole(world, joined, fewer))) return joined;
  const apart = built({ bins, dearer: 0 });
  return joined === undefined || apart === undefined ? (joined ?? apart) : better(joined, apart);
}

/**
 * Whether the nodes of a packing were enough. Limits may allow nodes and forbid those that they are
 * joined to. Joined nodes may also lack the room for pods that follow others onto a node, which
 * then need a larger node, another one, or have no place.
 */
const isWhole = (world: World, made: Composed, { bins }: Fewer): boolean =>
  made.engine.fresh.length <= bins.length &&
  dollarsOf(made) <= totalPrice(bins) &&
  !leavesPlaceable(world, made);
