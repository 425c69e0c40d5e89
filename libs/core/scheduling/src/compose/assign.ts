import { at, numberAt } from '@dovetail/core-invariant';

import type { PodClass } from '../model/classes.js';
import { assignDomains } from '../rooms/domain-room.js';
import type { Engine } from '../rooms/engine.js';
import type { Item, ItemTable } from '../rooms/items.js';
import { candidatesOf } from '../rooms/pinned-items.js';
import { rolesOf } from '../topology/roles.js';
import type { World } from '../world/world.js';
import { placeOnExisting } from './place-on-existing.js';

/**
 * Decisions made before new nodes open: pods on existing nodes, and the domains of all other pods.
 */
export type Assignment = {
  /** Pods for new nodes by item, in the order of their classes. */
  readonly assigned: Map<Item, number>;
  /** Pods of each class that are neither placed nor assigned yet, by class index. */
  readonly left: number[];
};

type Part = { readonly cls: PodClass; readonly level: number; readonly count: number };

function assignAt(engine: Engine, table: ItemTable, assignment: Assignment, part: Part): number {
  const { cls, level, count } = part;
  const roles = rolesOf(cls, at(cls.levels, level));
  // Pods that must share a node with others wait until nodes have pods on them.
  if (roles.needsHostMates) return 0;
  let done = placeOnExisting(engine, table, { cls, level, roles, count });
  if (done === count) return done;
  const candidates = candidatesOf(engine, table, { cls, level, roles });
  const [first] = candidates;
  // Most classes of most plans have a single candidate without a domain and need no division.
  if (first !== undefined && candidates.length === 1 && first.pins.length === 0) {
    assignment.assigned.set(first, (assignment.assigned.get(first) ?? 0) + count - done);
    return count;
  }
  for (const [item, pods] of assignDomains(engine, candidates, count - done)) {
    assignment.assigned.set(item, (assignment.assigned.get(item) ?? 0) + pods);
    done += pods;
  }
  return done;
}

/**
 * Assigns as many pods of a class as possible. Preferences are given up only for pods that find no
 * domain with them.
 */
function assignClass(
  engine: Engine,
  table: ItemTable,
  assignment: Assignment,
  cls: PodClass,
): number {
  let placed = 0;
  const count = numberAt(assignment.left, cls.index);
  for (let level = 0; level < cls.levels.length && placed < count; level += 1) {
    // A class that waits for host mates at some level must not skip that level. Its remaining pods
    // are placed in sequence later.
    if (rolesOf(cls, at(cls.levels, level)).needsHostMates) break;
    placed += assignAt(engine, table, assignment, { cls, level, count: count - placed });
  }
  return placed;
}

/**
 * Assigns every pod that does not depend on how new nodes are filled, largest pods first. It
 * repeats until nothing changes, because pods with affinity find the pods that they follow in a
 * later round.
 */
export function assignAll(engine: Engine, table: ItemTable): Assignment {
  const world: World = engine.world;
  const assignment: Assignment = {
    assigned: new Map(),
    left: world.classes.map((cls) => cls.uids.length),
  };
  for (let progress = true; progress;) {
    progress = false;
    for (const cls of world.classes) {
      if (numberAt(assignment.left, cls.index) === 0 || cls.levels.length === 0) continue;
      const placed = assignClass(engine, table, assignment, cls);
      assignment.left[cls.index] = numberAt(assignment.left, cls.index) - placed;
      if (placed > 0) progress = true;
    }
  }
  return assignment;
}
