import { float64At, int32At } from '@dovetail/core-invariant';

import type { State } from '../match/states.js';
import type { Offer } from '../model/templates.js';
import type { TypeRoom } from '../model/type-rooms.js';
import type { World } from '../world/world.js';
import type { Kind, Portion } from './kinds.js';
import { type PackContext, type Target } from './packing.js';
import { type Buyable, dot, resourcePrices } from './prices.js';
import { traded, UsableRooms } from './usable.js';

/**
 * Returns the offers on the frontiers of the states in which some kind may open a node. Of equal
 * offers, as those of a type in several zones, the first is enough to judge prices.
 */
function offersOf(kinds: readonly Kind[]): readonly Offer[] {
  const states = new Set<State>();
  for (const { openings } of kinds) for (const state of openings) states.add(state);
  const prices = new Map<TypeRoom, Set<number>>();
  const offers: Offer[] = [];
  for (const state of states)
    for (const offer of state.frontier) {
      const { priceMicrosPerHour } = offer.offering;
      const known = prices.get(offer.type) ?? new Set<number>();
      if (known.has(priceMicrosPerHour)) continue;
      prices.set(offer.type, known.add(priceMicrosPerHour));
      offers.push(offer);
    }
  return offers;
}

/** Returns the sum of the pods' requests. */
export function demandOf(portions: readonly Portion[], size: number): Float64Array {
  const demand = new Float64Array(size);
  for (const { kind, count } of portions)
    for (let r = 0; r < size; r += 1)
      demand[r] = float64At(demand, r) + float64At(kind.requests, r) * count;
  return demand;
}

/**
 * A resource is nearly scarce if this multiple of its demand would be. In mixes of cpu and memory
 * within 10 % of a balance, first plans of 5,000 pods and more cost 2 to 3 % less with it.
 */
const nearlyScarce = 1.1;

/**
 * Returns the best price per unit of each resource. It counts types that are not niche, and the
 * part of their rooms that pods can use.
 */
function pricesOf(
  offers: readonly Offer[],
  usable: UsableRooms,
  demand: Float64Array,
): Float64Array {
  const judged = offers.map(({ type, offering }) => ({
    ...usable.of(type.room),
    price: offering.priceMicrosPerHour,
  }));
  const common = judged.filter(({ niche }) => !niche);
  return balanced(common.length > 0 ? common : judged, demand);
}

/**
 * Returns the best price per unit of each resource. If a little more of a resource that is free at
 * these prices would make it scarce, it returns the average with the prices at that demand.
 * Otherwise pods with much of it would be left to the end, where they need nodes of their own.
 */
function balanced(judged: readonly Buyable[], demand: Float64Array): Float64Array {
  const prices = resourcePrices(judged, demand).perUnit;
  for (const scarce of traded) {
    if (float64At(demand, scarce) <= 0 || float64At(prices, scarce) > 0) continue;
    const more = demand.map((amount, r) => (r === scarce ? amount * nearlyScarce : amount));
    const others = resourcePrices(judged, more).perUnit;
    if (float64At(others, scarce) > 0)
      return prices.map((price, r) => (price + float64At(others, r)) / 2);
  }
  return prices;
}

/** Orders a state's offers by worth for money; among equals the dearer first. */
function byValueOf(state: State, worths: Float64Array): ReturnType<PackContext['byValue']> {
  const value = (at: number): number =>
    float64At(worths, at) / Math.max(1, state.frontier[at]?.offering.priceMicrosPerHour ?? 1);
  const places = Int32Array.from(worths.keys()).sort((a, b) => value(b) - value(a) || b - a);
  const mostWorth = worths.reduce((most, worth) => Math.max(most, worth), 0);
  return { places, mostWorth, bestRatio: places.length === 0 ? 0 : value(int32At(places, 0)) };
}

const offerPricesOf = ({ frontier }: State): Float64Array =>
  Float64Array.from(frontier, ({ offering }) => offering.priceMicrosPerHour);

/** Returns the targets of nodes that open in a state, in the order of its frontier. */
const targetsOf = (state: State, usable: UsableRooms): readonly Target[] =>
  state.frontier.map(({ type, offering }) => ({
    room: type.room,
    usable: usable.of(type.room).room,
    price: offering.priceMicrosPerHour,
  }));

/** Keeps the result of `make` per state. */
function byState<T>(make: (state: State) => T): (state: State) => T {
  const known: T[] = [];
  return (state) => (known[state.id] ??= make(state));
}

/**
 * The least worth of a resource, as a share of its price if nodes were bought for it alone. It only
 * has to break ties, so it is small beside any price. The number of pods gets no worth.
 */
const freeShare = 0.02;

/**
 * Returns the worth of each resource per unit: its price, or a small worth if the prices call it
 * free.
 */
function worthsOf(
  names: readonly string[],
  perUnit: Float64Array,
  offers: readonly Offer[],
): Float64Array {
  const least = (r: number): number =>
    offers.reduce((most, { type: { room }, offering }) => {
      const amount = float64At(room, r);
      return amount > 0 ? Math.min(most, offering.priceMicrosPerHour / amount) : most;
    }, Infinity);
  return perUnit.map((price, r) => {
    const floor = names[r] === 'pods' ? 0 : freeShare * least(r);
    return Math.max(price, Number.isFinite(floor) ? floor : 0);
  });
}

/** Returns a lower bound on the price of the demand, in whole micro-dollars an hour. */
function boundOf(offers: readonly Offer[], demand: Float64Array): number {
  const buyable = offers.map(({ type, offering }) => ({
    room: type.room,
    price: offering.priceMicrosPerHour,
  }));
  return Math.floor(resourcePrices(buyable, demand).total);
}

/**
 * Prices resources at the best prices for the demand. A resource that is free at these prices still
 * gets a little worth. Of two equal choices, the one that uses more of the node then wins.
 */
export function packContextOf(
  world: World,
  kinds: readonly Kind[],
  hostFloors: Float64Array,
): PackContext {
  const { names } = world.dimensions;
  const offers = offersOf(kinds);
  const demand = demandOf(
    kinds.map((kind) => ({ kind, count: kind.count })),
    names.length,
  );
  const usable = new UsableRooms(kinds, demand);
  const perUnit = pricesOf(offers, usable, demand);
  const bound = boundOf(offers, demand);
  const worths = worthsOf(names, perUnit, offers);
  const worth = Float64Array.from(kinds.map((kind) => dot(worths, kind.requests)));
  const sizes = kinds.map((kind) => ({
    requests: kind.requests,
    worth: float64At(worth, kind.index),
    kinds: [kind.index],
  }));
  const roomWorths = byState((state) =>
    Float64Array.from(state.frontier.map(({ type }) => dot(worths, usable.of(type.room).room))),
  );
  return {
    states: world.states,
    kinds,
    bound,
    hostFloors,
    roomWorths,
    offerPrices: byState(offerPricesOf),
    byValue: byState((state) => byValueOf(state, roomWorths(state))),
    targets: byState((state) => targetsOf(state, usable)),
    perUnit: worths,
    duals: perUnit,
    worth,
    sizes,
    next: kinds.map(() => []),
  };
}
