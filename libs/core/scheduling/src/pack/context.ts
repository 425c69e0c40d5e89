import type { State } from '../match/states.js';
import type { Offer } from '../model/templates.js';
import type { World } from '../model/world.js';
import type { PackContext } from './bins.js';
import type { Kind } from './kinds.js';
import { dot, resourcePrices } from './prices.js';

/** The cheapest offer of each type that some kind may be opened on. */
function offersOf(kinds: readonly Kind[]): readonly Offer[] {
  const states = new Set(kinds.flatMap((kind) => kind.openings));
  const offers = new Set<Offer>();
  for (const state of states) for (const offer of state.frontier) offers.add(offer);
  return [...offers];
}

/** What everything to be packed requests. */
export function demandOf(kinds: readonly Kind[], size: number): Float64Array {
  const demand = new Float64Array(size);
  for (const kind of kinds) for (let r = 0; r < size; r += 1) demand[r] = (demand[r] as number) + (kind.requests[r] as number) * kind.count;
  return demand;
}

/**
 * Prices resources by what they would cost at best. A resource that the prices call free still gets a little worth, so
 * that of two equal choices the one that uses more of the node wins.
 */
export function packContextOf(world: World, kinds: readonly Kind[], hostFloors: Float64Array): PackContext {
  const size = world.dimensions.names.length;
  const offers = offersOf(kinds).map(({ type, offering }) => ({ room: type.room, price: offering.priceMicrosPerHour }));
  const { perUnit } = resourcePrices(offers, demandOf(kinds, size));
  const floors = perUnit.map((_, r) => (world.dimensions.names[r] === 'pods' ? 0 : 0.02 * offers.reduce((least, { room, price }) => ((room[r] ?? 0) > 0 ? Math.min(least, price / (room[r] ?? 1)) : least), Infinity)));
  const worths = perUnit.map((price, r) => Math.max(price, Number.isFinite(floors[r]) ? (floors[r] ?? 0) : 0));
  const worth = Float64Array.from(kinds.map((kind) => dot(worths, kind.requests)));
  const sizes = kinds.map((kind) => ({ requests: kind.requests, worth: worth[kind.index] ?? 0, kinds: [kind.index] }));
  const known: Float64Array[] = [];
  const roomWorths = (state: State): Float64Array => (known[state.id] ??= Float64Array.from(state.frontier.map(({ type }) => dot(worths, type.room))));
  return { states: world.states, kinds, hostFloors, roomWorths, perUnit: worths, worth, sizes, next: kinds.map(() => []) };
}
