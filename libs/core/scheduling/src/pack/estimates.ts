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

/**
 * Returns the targets of a state that hold `need`, those that promise most worth per price first.
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
    // This read is unchecked for speed: `entry` counts down from the frontier's own length.
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
