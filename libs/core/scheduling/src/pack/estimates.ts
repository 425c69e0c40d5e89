import { at, float64At, int32At } from '@dovetail/core-invariant';

import type { State } from '../match/states.js';
import type { Offer } from '../model/templates.js';
import { worthOf } from './fill.js';
import type { PackBin, PackContext, Target } from './packing.js';

/**
 * A target for a node and the worth per price that it promises. Invariant: no filled node has a
 * better ratio than its estimate.
 */
export type Estimate = {
  readonly target: Target;
  readonly state: State;
  readonly ratio: number;
  readonly grow: PackBin | undefined;
};

/**
 * The request for estimates: the load that the node must hold at least, and the number of
 * estimates.
 */
export type Ask = {
  readonly need: Float64Array;
  readonly supplyWorth: number;
  readonly grow: PackBin | undefined;
  readonly most: number;
};

/** Returns the first place of sorted prices that is above `price`. */
function firstAbove(prices: Float64Array, price: number): number {
  let low = 0;
  let high = prices.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((prices[middle] as number) > price) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Tolerance for rounding, so that a scan does not end before a target as good as its bound. */
const rounding = 1 + 1e-9;

/**
 * Returns the targets of a state that hold `need`, those that promise most worth per price first.
 * Of equal ones the dearer comes first.
 */
export function targetsFor(context: PackContext, state: State, ask: Ask): readonly Estimate[] {
  const { need, grow, supplyWorth } = ask;
  const { places, mostWorth, bestRatio } = context.byValue(state);
  if (grow === undefined && supplyWorth >= mostWorth)
    return firstHolding(context, state, ask, places);
  const base = grow === undefined ? 0 : worthOf(context, grow);
  const paid = grow?.price ?? 0;
  const worths = context.roomWorths(state);
  const prices = context.offerPrices(state);
  const best: Estimate[] = [];
  let leastRatio = -Infinity;
  const start = grow === undefined ? 0 : firstAbove(prices, paid);
  for (let entry = start; entry < prices.length; entry += 1) {
    // These reads are unchecked for speed: `entry` is an index of this frontier.
    const price = prices[entry] as number;
    const more = Math.max(1, price - paid);
    // No room is worth more than `bestRatio` of its price, so this falls as prices rise.
    const most = Math.min(supplyWorth, bestRatio * price - base) / more;
    if (bestRatio * paid >= base && most * rounding < leastRatio) break;
    const ratio = Math.min((worths[entry] as number) - base, supplyWorth) / more;
    if (ratio < leastRatio) continue;
    const { type } = state.frontier[entry] as Offer;
    if (!holds(type.room, need)) continue;
    if (best.length >= ask.most) best.pop();
    let place = best.length;
    while (place > 0 && at(best, place - 1).ratio <= ratio) place -= 1;
    best.splice(place, 0, { target: { room: type.room, price }, state, ratio, grow });
    if (best.length >= ask.most) leastRatio = at(best, best.length - 1).ratio;
  }
  return best;
}

/**
 * Returns the first targets that hold the load. While the supply can fill any node, every new node
 * has the same order of targets.
 */
function firstHolding(
  context: PackContext,
  state: State,
  { need, most }: Ask,
  places: Int32Array,
): readonly Estimate[] {
  const worths = context.roomWorths(state);
  const best: Estimate[] = [];
  for (let index = 0; index < places.length && best.length < most; index += 1) {
    const entry = int32At(places, index);
    // This read is unchecked for speed: `entry` is an index of this frontier.
    const { type, offering } = state.frontier[entry] as Offer;
    const price = offering.priceMicrosPerHour;
    if (holds(type.room, need))
      best.push({
        target: { room: type.room, price },
        state,
        ratio: float64At(worths, entry) / Math.max(1, price),
        grow: undefined,
      });
  }
  return best;
}

function holds(room: Float64Array, need: Float64Array): boolean {
  for (let r = 0; r < need.length; r += 1)
    if (float64At(room, r) < float64At(need, r)) return false;
  return true;
}

/** Orders estimates by ratio, the best first, then by price. */
export const byRatio = (a: Estimate, b: Estimate): number =>
  b.ratio - a.ratio || a.target.price - b.target.price;
