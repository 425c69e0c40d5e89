import { at, numberAt } from '@dovetail/core-invariant';

import type { PodClass } from '../model/classes.js';
import { assignDomains, type DomainPreference, evensOut } from '../rooms/domain-room.js';
import type { Engine } from '../rooms/engine.js';
import type { Item, ItemTable } from '../rooms/items.js';
import { openableOf } from '../rooms/pinned-items.js';
import { rolesOf } from '../topology/roles.js';
import type { World } from '../world/world.js';
import { fillRooms, isPlain } from './fill-rooms.js';
import { nextLevel } from './next-level.js';
import { ExistingNodes } from './place-on-existing.js';

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

function assignAt(
  engine: Engine,
  table: ItemTable,
  assignment: Assignment,
  part: Part & { readonly preference: DomainPreference },
): number {
  const { cls, level, count } = part;
  const roles = rolesOf(cls, at(cls.levels, level));
  // Pods that must share a node with others wait until nodes have pods on them.
  if (roles.needsHostMates) return 0;
  const existing = new ExistingNodes(engine, table, { cls, level, roles });
  let done = existing.place(count);
  if (done === count) return done;
  const candidates = openableOf(engine, table, { cls, level, roles });
  const [first] = candidates;
  // Most classes of most plans have a single candidate without a domain and need no division.
  if (first !== undefined && candidates.length === 1 && first.pins.length === 0) {
    assignment.assigned.set(first, (assignment.assigned.get(first) ?? 0) + count - done);
    return count;
  }
  // A pod on a new node may raise the minimum that kept others from a node that exists.
  const inTurn = evensOut(roles) && engine.existing.length > 0;
  while (done < count) {
    const most = inTurn ? 1 : count - done;
    const assigned = assignDomains(engine, candidates, {
      count: most,
      preference: part.preference,
    });
    if (assigned.size === 0) break;
    for (const [item, pods] of assigned) {
      assignment.assigned.set(item, (assignment.assigned.get(item) ?? 0) + pods);
      done += pods;
    }
    done += existing.place(count - done);
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
  what: { readonly cls: PodClass; readonly preference: DomainPreference },
): number {
  const { cls, preference } = what;
  let placed = 0;
  const count = numberAt(assignment.left, cls.index);
  const { options } = engine.world;
  for (
    let level = 0;
    level < cls.levels.length && placed < count;
    level = nextLevel(cls, level, options)
  ) {
    // A class that waits for host mates at some level must not skip that level. Its remaining pods
    // are placed in sequence later.
    if (rolesOf(cls, at(cls.levels, level)).needsHostMates) break;
    placed += assignAt(engine, table, assignment, {
      cls,
      level,
      preference,
      count: count - placed,
    });
  }
  return placed;
}

/**
 * Assigns every pod that does not depend on how new nodes are filled, largest pods first. It
 * repeats until nothing changes, because pods with affinity find the pods that they follow in a
 * later round.
 */
export function assignAll(
  engine: Engine,
  table: ItemTable,
  preference: DomainPreference,
): Assignment {
  const world: World = engine.world;
  const assignment: Assignment = {
    assigned: new Map(),
    left: world.classes.map((cls) => cls.uids.length),
  };
  if (world.options.existingNodes === 'filled' && engine.existing.length > 0) {
    // Pods under rules are less free than the others, so they choose first.
    const ruled = world.classes.filter((cls) => !isPlain(cls));
    assignUntilStill(engine, table, assignment, { classes: ruled, preference });
    fillRooms(engine, table, assignment.left);
  }
  assignUntilStill(engine, table, assignment, { classes: world.classes, preference });
  return assignment;
}

function assignUntilStill(
  engine: Engine,
  table: ItemTable,
  assignment: Assignment,
  what: { readonly classes: readonly PodClass[]; readonly preference: DomainPreference },
): void {
  for (let progress = true; progress;) {
    progress = false;
    for (const cls of what.classes) {
      if (numberAt(assignment.left, cls.index) === 0 || cls.levels.length === 0) continue;
      const { preference } = what;
      engine.world.options.giveWay?.();
      const placed = assignClass(engine, table, assignment, { cls, preference });
      assignment.left[cls.index] = numberAt(assignment.left, cls.index) - placed;
      if (placed > 0) progress = true;
    }
  }
}
