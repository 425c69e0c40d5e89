import { at, float64At, numberAt } from '@dovetail/core-invariant';

import { RandomNumbers } from '../improve/random-numbers.js';
import type { PodClass } from '../model/classes.js';
import { addTo } from '../model/dimensions.js';
import { dot, resourcePrices } from '../pack/prices.js';
import type { Bin } from '../rooms/bin.js';
import type { Engine } from '../rooms/engine.js';
import { timesFitting } from '../rooms/fitting.js';
import type { Item, ItemTable } from '../rooms/items.js';
import { rolesOf } from '../topology/roles.js';

/**
 * The ways in which each node is filled, of which the fullest counts. More of them fill nodes
 * better and take more time.
 */
const triesMax = 12;
/** A node with less than this share of its free room left counts as full. */
const fullShare = 0.003;
/** The exchanges that top off a node. More of them raise its worth and take more time. */
const swapsMax = 8;

/** Pods of one class that may fill nodes. */
type Supply = {
  readonly item: Item;
  readonly requests: Float64Array;
  readonly worth: number;
  left: number;
};

/** The counts of each supply that a node takes, by the place of the supply in its list. */
type Filling = { readonly counts: Map<number, number>; free: Float64Array; worth: number };

/** Whether only resources, taints and labels decide where pods of a class may go. */
export function isPlain(cls: PodClass): boolean {
  const [level] = cls.levels;
  if (level === undefined || level.shapes.length !== 1 || cls.attachments.length > 0) return false;
  const { onHost, onDomain } = rolesOf(cls, level);
  return onHost.length + onDomain.length + cls.pod.hostPorts.length === 0;
}

/**
 * Fills existing nodes with plain pods, those with the most room first. For each it takes the pods
 * that are worth the most together at the prices of new nodes, and lowers `left` by them. Pods that
 * are left find the rooms that are left, or new nodes, afterwards.
 */
export function fillRooms(engine: Engine, table: ItemTable, left: number[]): void {
  const { perUnit, supplies } = suppliesOf(engine, table, left);
  if (perUnit.every((price) => price === 0)) return;
  const random = new RandomNumbers(engine.world.options.seed);
  const bins = engine.existing
    .map((bin) => ({ bin, worth: dot(perUnit, freeIn(bin)) }))
    .sort((a, b) => b.worth - a.worth || a.bin.index - b.bin.index);
  for (const { bin } of bins) {
    const joining = supplies.filter(
      (supply) => supply.left > 0 && engine.roomOnNode(bin, supply.item) > 0,
    );
    if (joining.length === 0) continue;
    engine.world.options.giveWay?.();
    for (const [place, count] of fullest(bin, joining, { perUnit, random }).counts) {
      const supply = at(joining, place);
      engine.put(bin, supply.item, count);
      supply.left -= count;
      const { index } = supply.item.cls;
      left[index] = numberAt(left, index) - count;
    }
  }
}

function suppliesOf(
  engine: Engine,
  table: ItemTable,
  left: readonly number[],
): { readonly perUnit: Float64Array; readonly supplies: readonly Supply[] } {
  const { classes, templates, states, dimensions } = engine.world;
  const plain = classes.filter((cls) => numberAt(left, cls.index) > 0 && isPlain(cls));
  const demand = new Float64Array(dimensions.names.length);
  for (const cls of plain) addTo(demand, cls.requests, numberAt(left, cls.index));
  const offers = templates
    .flatMap((template) => states.root(template).frontier)
    .map(({ type, offering }) => ({ room: type.room, price: offering.priceMicrosPerHour }));
  const { perUnit } = resourcePrices(offers, demand);
  const supplies = plain.map((cls): Supply => {
    const level = at(cls.levels, 0);
    const shape = at(level.shapes, 0);
    const item = table.intern({ cls, level: 0, roles: rolesOf(cls, level), shape, pins: [] });
    const { requests } = cls;
    return { item, requests, worth: dot(perUnit, requests), left: numberAt(left, cls.index) };
  });
  return { perUnit, supplies };
}

const freeIn = ({ room, used }: Bin): Float64Array =>
  used.map((amount, r) => Math.max(0, (room?.free[r] ?? 0) - amount));

type Filler = { readonly perUnit: Float64Array; readonly random: RandomNumbers };

/** The fullest of some ways to fill a node. The first two are greedy, the others are drawn. */
function fullest(bin: Bin, joining: readonly Supply[], filler: Filler): Filling {
  const free = freeIn(bin);
  const whole = dot(filler.perUnit, free);
  let best: Filling = { counts: new Map(), free, worth: 0 };
  for (let attempt = 0; attempt < triesMax; attempt += 1) {
    const made = exchanged(filled(free, joining, { ...filler, attempt }), joining);
    if (made.worth > best.worth) best = made;
    if (whole - best.worth <= fullShare * whole) break;
  }
  return best;
}

/** Puts one pod after the other, each time the one that suits the room best that is left. */
function filled(
  room: Float64Array,
  joining: readonly Supply[],
  { perUnit, random, attempt }: Filler & { readonly attempt: number },
): Filling {
  const free = Float64Array.from(room);
  const counts = new Map<number, number>();
  const weights = joining.map(() => (attempt < 2 ? 1 : 0.4 + random.below(1000) / 1000));
  let worth = 0;
  for (;;) {
    let best = -1;
    let most = -1;
    for (let place = 0; place < joining.length; place += 1) {
      const supply = at(joining, place);
      if (supply.left <= (counts.get(place) ?? 0) || !fits(free, supply.requests)) continue;
      const suits = attempt === 0 ? supply.worth : likeness(perUnit, free, supply.requests);
      if (suits * numberAt(weights, place) > most)
        [best, most] = [place, suits * numberAt(weights, place)];
    }
    if (best < 0) return { counts, free, worth };
    const { requests, worth: own } = at(joining, best);
    addTo(free, requests, -1);
    counts.set(best, (counts.get(best) ?? 0) + 1);
    worth += own;
  }
}

/** Whether one more pod fits. Amounts that are not asked for do not count. */
const fits = (free: Float64Array, requests: Float64Array): boolean =>
  timesFitting(free, none(free.length), requests) > 0;

const nones: Float64Array[] = [];
const none = (size: number): Float64Array => (nones[size] ??= new Float64Array(size));

/** How well a request suits a room: the product of both over all resources, by their prices. */
function likeness(perUnit: Float64Array, free: Float64Array, requests: Float64Array): number {
  let sum = 0;
  for (let r = 0; r < free.length; r += 1)
    sum += float64At(perUnit, r) ** 2 * float64At(free, r) * float64At(requests, r);
  return sum;
}

/** Exchanges pods one for one, as long as each exchange raises the worth of the filling. */
function exchanged(filling: Filling, joining: readonly Supply[]): Filling {
  for (let swap = 0; swap < swapsMax; swap += 1) {
    const found = bestExchange(filling, joining);
    if (found === undefined) return filling;
    const { out, into } = found;
    addTo(filling.free, at(joining, out).requests, 1);
    addTo(filling.free, at(joining, into).requests, -1);
    filling.worth += at(joining, into).worth - at(joining, out).worth;
    filling.counts.set(out, (filling.counts.get(out) ?? 0) - 1);
    if (filling.counts.get(out) === 0) filling.counts.delete(out);
    filling.counts.set(into, (filling.counts.get(into) ?? 0) + 1);
  }
  return filling;
}

function bestExchange(
  { counts, free }: Filling,
  joining: readonly Supply[],
): { readonly out: number; readonly into: number } | undefined {
  let best: { readonly out: number; readonly into: number } | undefined;
  let gain = 1e-6;
  for (const out of counts.keys()) {
    const leaving = at(joining, out);
    const room = Float64Array.from(free);
    addTo(room, leaving.requests, 1);
    for (let into = 0; into < joining.length; into += 1) {
      const supply = at(joining, into);
      const more = supply.worth - leaving.worth;
      if (more <= gain || supply.left <= (counts.get(into) ?? 0)) continue;
      if (fits(room, supply.requests)) [best, gain] = [{ out, into }, more];
    }
  }
  return best;
}
