import type { State } from '../match/states.js';
import type { Offer } from '../model/templates.js';
import type { World } from '../model/world.js';
import type { PackContext } from './bins.js';
import type { Target } from './fill.js';
import type { Kind, Portion } from './kinds.js';
import { dot, resourcePrices } from './prices.js';
import { UsableRooms } from './usable.js';

/** The cheapest offer of each type that some kind may be opened on. */
function offersOf(kinds: readonly Kind[]): readonly Offer[] {
  const states = new Set(kinds.flatMap((kind) => kind.openings));
  const offers = new Set<Offer>();
  for (const state of states) for (const offer of state.frontier) offers.add(offer);
  return [...offers];
}

/** What some pods request together. */
export function demandOf(portions: readonly Portion[], size: number): Float64Array {
  const demand = new Float64Array(size);
  for (const { kind, count } of portions) for (let r = 0; r < size; r += 1) demand[r] = (demand[r] as number) + (kind.requests[r] as number) * count;
  return demand;
}

/** What resources cost per unit at best, by the types that matter and what pods can make of their rooms. */
function pricesOf(offers: readonly Offer[], usable: UsableRooms, demand: Float64Array): Float64Array {
  const judged = offers.map(({ type, offering }) => ({ ...usable.of(type.room), price: offering.priceMicrosPerHour }));
  const common = judged.filter(({ niche }) => !niche);
  return resourcePrices(common.length > 0 ? common : judged, demand).perUnit;
}

/** Of equal value for money the dearer first. */
function byValueOf(state: State, worths: Float64Array): ReturnType<PackContext['byValue']> {
  const value = (at: number): number => (worths[at] as number) / Math.max(1, state.frontier[at]?.offering.priceMicrosPerHour ?? 1);
  const places = Int32Array.from(worths.keys()).sort((a, b) => value(b) - value(a) || b - a);
  return { places, mostWorth: worths.reduce((most, worth) => Math.max(most, worth), 0) };
}

/**
 * Prices resources by what they would cost at best. A resource that the prices call free still gets a little worth, so
 * that of two equal choices the one that uses more of the node wins.
 */
export function packContextOf(world: World, kinds: readonly Kind[], hostFloors: Float64Array): PackContext {
  const { names } = world.dimensions;
  const offers = offersOf(kinds);
  const demand = demandOf(kinds.map((kind) => ({ kind, count: kind.count })), names.length);
  const usable = new UsableRooms(kinds, demand);
  const perUnit = pricesOf(offers, usable, demand);
  const bound = Math.floor(resourcePrices(offers.map(({ type, offering }) => ({ room: type.room, price: offering.priceMicrosPerHour })), demand).total);
  const least = (r: number): number => offers.reduce((most, { type: { room }, offering }) => ((room[r] ?? 0) > 0 ? Math.min(most, offering.priceMicrosPerHour / (room[r] ?? 1)) : most), Infinity);
  const floors = perUnit.map((_, r) => (names[r] === 'pods' ? 0 : 0.02 * least(r)));
  const worths = perUnit.map((price, r) => Math.max(price, Number.isFinite(floors[r]) ? (floors[r] ?? 0) : 0));
  const worth = Float64Array.from(kinds.map((kind) => dot(worths, kind.requests)));
  const sizes = kinds.map((kind) => ({ requests: kind.requests, worth: worth[kind.index] ?? 0, kinds: [kind.index] }));
  const known: Float64Array[] = [];
  const roomWorths = (state: State): Float64Array => (known[state.id] ??= Float64Array.from(state.frontier.map(({ type }) => dot(worths, usable.of(type.room).room))));
  const values: ReturnType<PackContext['byValue']>[] = [];
  const byValue = (state: State): ReturnType<PackContext['byValue']> => (values[state.id] ??= byValueOf(state, roomWorths(state)));
  const rooms: (readonly Target[])[] = [];
  const targets = (state: State): readonly Target[] => (rooms[state.id] ??= state.frontier.map(({ type, offering }) => ({ room: type.room, usable: usable.of(type.room).room, price: offering.priceMicrosPerHour })));
  return { states: world.states, kinds, bound, hostFloors, roomWorths, byValue, targets, perUnit: worths, duals: perUnit, worth, sizes, next: kinds.map(() => []) };
}
