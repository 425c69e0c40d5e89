import { at, numberAt } from '@dovetail/core-invariant';

import type { RandomNumbers } from '../improve/random-numbers.js';
import type { PodClass } from '../model/classes.js';
import { Engine } from '../rooms/engine.js';
import { ItemTable } from '../rooms/items.js';
import { candidatesOf } from '../rooms/pinned-items.js';
import { rolesOf } from '../topology/roles.js';
import type { World } from '../world/world.js';
import { type Choosing, NewNodes } from './new-nodes.js';
import { nextLevel } from './next-level.js';
import { ExistingNodes } from './place-on-existing.js';

/** A complete set of decisions: the bins with their contents, and the pods without a place. */
export type Outcome = {
  readonly engine: Engine;
  /** Pods of each class without a place, by class index. */
  readonly left: readonly number[];
};

/** The way in which pods are placed one after the other. */
export type Manner = Choosing & {
  /** Whether preferences are tried before they are given up, or given up at once. */
  readonly preferences: 'tried' | 'ignored';
  /** The indexes of classes that are placed before the others. */
  readonly first?: ReadonlySet<number>;
  /**
   * If given, it draws the order of the classes, how many pods of a class are placed in its turn,
   * and their pools and domains where the rules leave a choice.
   */
  readonly random?: RandomNumbers | undefined;
};

const likeKarpenter: Manner = { joining: 'always', preferences: 'tried' };

/**
 * Places up to `count` pods of a class at one level and returns how many it placed. Each pod goes
 * on an existing node if one takes it, else on a new one. A pod in one domain may open another
 * domain to the next pod, so existing nodes are asked again.
 */
function placeAtLevel(
  engine: Engine,
  table: ItemTable,
  what: Choosing & { readonly cls: PodClass; readonly level: number; readonly count: number },
): number {
  const roles = rolesOf(what.cls, at(what.cls.levels, what.level));
  const existing = new ExistingNodes(engine, table, { ...what, roles });
  let placed = existing.place(what.count);
  if (placed === what.count) return placed;
  const fresh = new NewNodes(engine, candidatesOf(engine, table, { ...what, roles }), what);
  while (placed < what.count && fresh.place()) {
    placed += 1;
    if (roles.onDomain.length > 0) placed += existing.place(what.count - placed);
  }
  return placed;
}

function placeClass(
  engine: Engine,
  table: ItemTable,
  what: { readonly cls: PodClass; readonly count: number } & Manner,
): number {
  const { cls, count, joining, preferences, random } = what;
  let placed = 0;
  const first = preferences === 'tried' ? 0 : cls.levels.length - 1;
  const { options } = engine.world;
  for (
    let level = first;
    level < cls.levels.length && placed < count;
    level = nextLevel(cls, level, options)
  )
    placed += placeAtLevel(engine, table, { cls, level, joining, random, count: count - placed });
  return placed;
}

/**
 * At most this many pods are placed even after the time is up. A higher number places more pods of
 * a late plan and delays its answer.
 */
const promptPodsMax = 5000;

/**
 * Places the remaining pods of each class, one class after the other, until nothing changes.
 * Updates `left`.
 */
export function placeRest(
  engine: Engine,
  table: ItemTable,
  left: number[],
  manner: Manner = likeKarpenter,
): void {
  placeUntilStill(engine, table, left, manner);
  if (left.every((count) => count === 0)) return;
  engine.ledger.lenient = true;
  placeUntilStill(engine, table, left, manner);
}

/** Returns the classes in the order in which a manner places them. */
function orderOf({ classes }: World, { first = new Set(), random }: Manner): readonly PodClass[] {
  if (random !== undefined) return random.shuffled(classes);
  // Stable: apart from these, the largest pods stay first.
  return classes.toSorted((a, b) => Number(first.has(b.index)) - Number(first.has(a.index)));
}

/** Returns how many of a class's remaining pods are placed before the next class has its turn. */
const turnOf = (left: number, random?: RandomNumbers): number =>
  random === undefined || random.below(2) === 0 ? left : 1 + random.below(left);

function placeUntilStill(engine: Engine, table: ItemTable, left: number[], manner: Manner): void {
  const { options } = engine.world;
  const classes = orderOf(engine.world, manner);
  const prompt = left.reduce((sum, count) => sum + count, 0) <= promptPodsMax;
  for (let progress = true; progress;) {
    progress = false;
    for (const cls of classes) {
      const count = numberAt(left, cls.index);
      if (count > 0) options.giveWay?.();
      if (
        count === 0 ||
        cls.levels.length === 0 ||
        (!prompt && options.shouldStop?.(engine.fresh.length) === true)
      )
        continue;
      const turn = turnOf(count, manner.random);
      const placed = placeClass(engine, table, { cls, count: turn, ...manner });
      left[cls.index] = count - placed;
      if (placed > 0) progress = true;
    }
  }
}

/**
 * Places classes one after the other, largest pods first: on existing nodes, then on new ones.
 * Preferences are given up only for pods that find no place with them. Unlike packing, it respects
 * limits, reservations and minValues at every step.
 */
export function buildInSequence(world: World, manner: Manner = likeKarpenter): Outcome {
  const engine = new Engine(world);
  const left = world.classes.map((cls) => cls.uids.length);
  placeRest(engine, new ItemTable(), left, manner);
  return { engine, left };
}
