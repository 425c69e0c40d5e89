import { float64At, uint8At } from '@dovetail/core-invariant';

import type { PodClass } from '../model/classes.js';
import type { Shape } from '../model/shapes.js';
import type { Offer } from '../model/templates.js';
import { Engine } from '../rooms/engine.js';
import type { World } from '../world/world.js';

/**
 * A node in the terms of the bounds: one that can be bought, or all existing nodes that admit the
 * same pods together.
 */
export type Column = {
  readonly room: Float64Array;
  readonly priceMicrosPerHour: number;
  /** One entry per admission group: 1 if the group may use the column, otherwise 0. */
  readonly admits: Uint8Array;
  /**
   * The most nodes of this column: the remaining instances of a reservation, otherwise Infinity.
   */
  readonly most: number;
};

/**
 * The classes in groups that the same offers and existing nodes admit, at any level of relaxation.
 */
export type Admissions = {
  /** The admission group of each class, by class index; -1 for classes that no node can take. */
  readonly groupOf: Int32Array;
  readonly buyable: readonly Column[];
  readonly existing: readonly Column[];
};

/** Returns the shapes of a class at all levels of relaxation. */
export const shapesOf = (cls: PodClass): readonly Shape[] => [
  ...new Set(cls.levels.flatMap((level) => level.shapes)),
];

/** Returns the offers that admit one of the shapes. */
export function offersFor(world: World, shapes: readonly Shape[]): ReadonlySet<Offer> {
  const offers = new Set<Offer>();
  for (const template of world.templates) {
    for (const shape of shapes)
      for (const offer of world.states.after(world.states.root(template), shape)?.offers ?? [])
        offers.add(offer);
  }
  return offers;
}

/**
 * Whether all pods that fit a node of `small` fit a node of `large`, which is no dearer and
 * unlimited.
 */
export function covers(large: Column, small: Column): boolean {
  if (large.priceMicrosPerHour > small.priceMicrosPerHour || large.most !== Infinity) return false;
  for (let r = 0; r < small.room.length; r += 1)
    if (float64At(large.room, r) < float64At(small.room, r)) return false;
  for (let g = 0; g < small.admits.length; g += 1)
    if (uint8At(large.admits, g) < uint8At(small.admits, g)) return false;
  return true;
}

/**
 * Leaves out columns that another one covers. A plan could buy the other at no higher price, so the
 * bound stays exact.
 */
function undominated(columns: readonly Column[]): readonly Column[] {
  const kept: Column[] = [];
  for (const column of [...columns].sort(
    (a, b) =>
      a.priceMicrosPerHour - b.priceMicrosPerHour || float64At(b.room, 0) - float64At(a.room, 0),
  )) {
    if (!kept.some((other) => covers(other, column))) kept.push(column);
  }
  return kept;
}

function buyableColumns(world: World, groups: readonly ReadonlySet<Offer>[]): readonly Column[] {
  const columns = new Map<string, Column>();
  for (const template of world.templates) {
    for (const offer of template.offers) {
      const admits = Uint8Array.from(groups.map((offers) => (offers.has(offer) ? 1 : 0)));
      if (admits.every((one) => one === 0)) continue;
      const { reservation, priceMicrosPerHour } = offer.offering;
      const text = `${priceMicrosPerHour}|${offer.type.room.join(',')}|${admits.join('')}|${reservation?.id ?? ''}`;
      if (!columns.has(text))
        columns.set(text, {
          room: offer.type.room,
          priceMicrosPerHour,
          admits,
          most: reservation?.remaining ?? Infinity,
        });
    }
  }
  return undominated([...columns.values()]);
}

/**
 * Combines existing nodes that admit the same groups into one node with the sum of their room. This
 * relaxes the problem.
 */
function existingColumns(world: World, groups: readonly (readonly Shape[])[]): readonly Column[] {
  const engine = new Engine(world);
  const columns = new Map<string, Column>();
  for (const room of world.nodes) {
    const admits = Uint8Array.from(
      groups.map((shapes) => (shapes.some((shape) => engine.nodeAdmits(room, shape)) ? 1 : 0)),
    );
    if (admits.every((one) => one === 0)) continue;
    const text = admits.join('');
    const column = columns.get(text) ?? {
      room: new Float64Array(room.free.length),
      priceMicrosPerHour: 0,
      admits,
      most: 1,
    };
    for (let r = 0; r < room.free.length; r += 1)
      column.room[r] = float64At(column.room, r) + Math.max(0, float64At(room.free, r));
    columns.set(text, column);
  }
  return [...columns.values()];
}

/** Finds which classes may use which nodes, and the nodes worth buying. */
export function admissionsOf(world: World): Admissions {
  const texts = new Map<string, number>();
  const shapes: (readonly Shape[])[] = [];
  const groupOf = Int32Array.from(
    world.classes.map((cls) => {
      const mine = shapesOf(cls);
      if (mine.length === 0) return -1;
      const text = mine.map((shape) => shape.id).join(',');
      let group = texts.get(text);
      if (group === undefined) {
        texts.set(text, (group = shapes.length));
        shapes.push(mine);
      }
      return group;
    }),
  );
  return {
    groupOf,
    buyable: buyableColumns(
      world,
      shapes.map((mine) => offersFor(world, mine)),
    ),
    existing: existingColumns(world, shapes),
  };
}
