import { at, float64At, int32At } from '@dovetail/core-invariant';

import type { State } from '../match/states.js';
import type { Offer } from '../model/templates.js';
import { worthOf } from './fill.js';
import type { PackBin, PackContext, Target } from './packing.js';

/**
 * A target for a node, and the value per dollar that it promises. No node turns out better than its
 * estimate.
 */
export type Estimate = {
  readonly target: Target;
  readonly state: State;
  readonly ratio: number;
  readonly grow: PackBin | undefined;
};

/** A node that is wanted: what it must hold, and how many estimates to give. */
export type Ask = {
  readonly need: Float64Array;
  readonly supplyWorth: number;
  readonly grow: PackBin | undefined;
  readonly most: number;
};

/**
 * The targets of a state that promise most value per dollar for a node that needs at least so much;
 * the best first.
 */
export function targetsFor(context: PackContext, state: State, ask: Ask): readonly Estimate[] {
  const { need, grow } = ask;
  const { places, mostWorth } = context.byValue(state);
  if (grow === undefined && ask.supplyWorth >= mostWorth)
    return firstHolding(context, state, ask, places);
  const base = grow === undefined ? 0 : worthOf(context, grow);
  const paid = grow?.price ?? 0;
  const worths = context.roomWorths(state);
  const best: Estimate[] = [];
  for (let entry = state.frontier.length - 1; entry >= 0; entry -= 1) {
    // Unchecked: this loop is the hottest of the planner, and `entry` comes from the frontier
    // itself.
    const { type, offering } = state.frontier[entry] as Offer;
    const price = offering.priceMicrosPerHour;
    if (grow !== undefined && price <= paid) break;
    const ratio =
      Math.min(float64At(worths, entry) - base, ask.supplyWorth) / Math.max(1, price - paid);
    const last = best[best.length - 1];
    if (best.length >= ask.most && last !== undefined && ratio <= last.ratio) continue;
    if (!holds(type.room, need)) continue;
    if (best.length >= ask.most) best.pop();
    let place = best.length;
    while (place > 0 && at(best, place - 1).ratio < ratio) place -= 1;
    best.splice(place, 0, { target: { room: type.room, price }, state, ratio, grow });
  }
  return best;
}

/** While there is enough to fill any node, what promises most is the same for every new one. */
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
    // Unchecked: this loop is the hottest of the planner, and `entry` comes from the frontier
    // itself.
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

/** The best value first; of equal value the cheaper. */
export const byRatio = (a: Estimate, b: Estimate): number =>
  b.ratio - a.ratio || a.target.price - b.target.price;
