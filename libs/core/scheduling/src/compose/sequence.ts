import { at, numberAt } from '@dovetail/core-invariant';

import type { PodClass } from '../model/classes.js';
import { assignDomains, evensOut, noteDomains } from '../rooms/domain-room.js';
import { Engine } from '../rooms/engine.js';
import { ItemTable } from '../rooms/items.js';
import { candidatesOf } from '../rooms/pinned-items.js';
import { rolesOf } from '../topology/roles.js';
import type { World } from '../world/world.js';
import { placeEmptiestFirst } from './emptiest-first.js';
import { placeOnExisting } from './place-on-existing.js';

/** A complete set of decisions: the bins with their contents, and the pods without a place. */
export type Outcome = {
  readonly engine: Engine;
  /** Pods of each class without a place, by class index. */
  readonly left: readonly number[];
};

/**
 * Places up to `count` pods of a class on new nodes, domain by domain, and returns how many it
 * placed.
 */
function placeOnNew(
  engine: Engine,
  table: ItemTable,
  what: { readonly cls: PodClass; readonly level: number; readonly count: number },
): number {
  const level = what.cls.levels[what.level];
  if (level === undefined) return 0;
  const roles = rolesOf(what.cls, level);
  const even = evensOut(roles);
  let candidates = candidatesOf(engine, table, { cls: what.cls, level: what.level, roles });
  let placed = 0;
  while (placed < what.count && candidates.length > 0) {
    // A full domain lowers the minimum up to which its siblings were filled. A spread therefore
    // assigns one pod at a time.
    const assigned = assignDomains(engine, candidates, even ? 1 : what.count - placed);
    if (assigned.size === 0) break;
    for (const [item, count] of assigned) {
      const done = placeEmptiestFirst(engine, item, count);
      placed += done;
      if (done === count) continue;
      // No new node in this domain takes more pods, so the remaining pods try the other domains.
      noteDomains(engine, item.pins, done - count);
      candidates = candidates.filter((one) => one !== item);
    }
  }
  return placed;
}

function placeClass(engine: Engine, table: ItemTable, cls: PodClass, count: number): number {
  let placed = 0;
  for (let level = 0; level < cls.levels.length && placed < count; level += 1) {
    const roles = rolesOf(cls, at(cls.levels, level));
    placed += placeOnExisting(engine, table, { cls, level, roles, count: count - placed });
    if (placed < count) placed += placeOnNew(engine, table, { cls, level, count: count - placed });
  }
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
export function placeRest(engine: Engine, table: ItemTable, left: number[]): void {
  placeUntilStill(engine, table, left);
  if (left.every((count) => count === 0)) return;
  engine.ledger.lenient = true;
  placeUntilStill(engine, table, left);
}

function placeUntilStill(engine: Engine, table: ItemTable, left: number[]): void {
  const { classes, options } = engine.world;
  const prompt = left.reduce((sum, count) => sum + count, 0) <= promptPodsMax;
  for (let progress = true; progress;) {
    progress = false;
    for (const cls of classes) {
      const count = numberAt(left, cls.index);
      if (
        count === 0 ||
        cls.levels.length === 0 ||
        (!prompt && options.shouldStop?.(engine.fresh.length) === true)
      )
        continue;
      const placed = placeClass(engine, table, cls, count);
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
export function buildInSequence(world: World): Outcome {
  const engine = new Engine(world);
  const left = world.classes.map((cls) => cls.uids.length);
  placeRest(engine, new ItemTable(), left);
  return { engine, left };
}
