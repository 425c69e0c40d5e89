import type { Pod } from '@dovetail/core-kube-model';

import { assignAll } from './compose/assign.js';
import { finish } from './compose/finish.js';
import { ExistingNodes } from './compose/place-on-existing.js';
import type { Placement } from './plan.js';
import { Engine } from './rooms/engine.js';
import { ItemTable } from './rooms/items.js';
import type { PlanOptions, Snapshot } from './snapshot.js';
import { rolesOf } from './topology/roles.js';
import { worldOf } from './world/world.js';

/**
 * The places of pods on nodes that exist, largest pods first, as a plan begins with them. Pods that
 * need a new node are left out, though a spread counts them in the domains of their nodes. It packs
 * no new nodes and explains nothing, so it takes a part of a
 * plan's time: it grows with the nodes and with the kinds of pods, hardly with their number.
 */
export function placesOnExisting(
  snapshot: Snapshot,
  pods: readonly Pod[],
  options: PlanOptions,
): readonly Placement[] {
  const world = worldOf(snapshot, pods, options);
  const engine = new Engine(world);
  const table = new ItemTable();
  const { left } = assignAll(engine, table, 'emptiest');
  placeFollowers(engine, table, left);
  return finish({ engine, left }).placements;
}

/** Places pods that must share a node with others, where those others are. */
function placeFollowers(engine: Engine, table: ItemTable, left: number[]): void {
  for (const cls of engine.world.classes)
    for (const [level, one] of cls.levels.entries()) {
      const count = left[cls.index] ?? 0;
      if (count === 0) break;
      engine.world.options.giveWay?.();
      const existing = new ExistingNodes(engine, table, { cls, level, roles: rolesOf(cls, one) });
      left[cls.index] = count - existing.place(count);
    }
}
