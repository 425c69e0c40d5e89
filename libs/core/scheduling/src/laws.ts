import { assert, float64At, present } from '@dovetail/core-invariant';
import type { Pod } from '@dovetail/core-kube-model';

import type { State } from './match/states.js';
import type { BinOption, NewNode, Plan } from './plan.js';
import type { Engine } from './rooms/engine.js';

/**
 * Asserts that each pod is in exactly one of `newNodes`, `placements` and `unplaced`, and that no
 * other pod is.
 */
export function assertEachPodOnce(plan: Plan, pods: readonly Pod[]): void {
  const left = new Set(pods.map((pod) => pod.uid));
  const settle = (uid: string): void => {
    assert(left.delete(uid), 'a plan names each pod asked for once');
  };
  for (const { podUids } of plan.newNodes) podUids.forEach(settle);
  for (const { podUids } of plan.placements) podUids.forEach(settle);
  for (const { podUid } of plan.unplaced) settle(podUid);
  assert(left.size === 0, 'a plan places or explains each pod asked for');
}

/** Asserts that every unplaced pod has a reason and every new node has pods. */
export function assertComplete(plan: Plan): void {
  for (const { reasons } of plan.unplaced)
    assert(reasons.length > 0, 'each pod without a place has a reason');
  for (const { podUids } of plan.newNodes)
    assert(podUids.length > 0, 'each new node is for at least one pod');
}

/** Returns the option that a new node is priced as. Throws InvariantError if it has none. */
export const cheapestOf = ({ options }: NewNode): BinOption =>
  present(options[0], 'each new node has at least one option');

/** Asserts that the price of a plan is the sum of each new node's cheapest option. */
export function assertPricesAddUp(plan: Plan): void {
  let sum = 0;
  // Many nodes share their options.
  const judged = new Set<NewNode['options']>();
  for (const node of plan.newNodes) {
    const first = cheapestOf(node);
    assert(
      judged.has(node.options) ||
        node.options.every((one) => one.priceMicrosPerHour >= first.priceMicrosPerHour),
      'the first option of a node is its cheapest',
    );
    judged.add(node.options);
    sum += first.priceMicrosPerHour;
  }
  assert(plan.priceMicrosPerHour === sum, 'the price of a plan is the sum of its nodes');
  assert(plan.bound.priceMicrosPerHour >= 0, 'a bound is never negative');
}

/**
 * Tolerance for rounding. Fractional amounts may add up to slightly more than a division said would
 * fit.
 */
const rounding = 1 + 1e-9;

function fits(used: Float64Array, room: Float64Array): boolean {
  for (let r = 0; r < used.length; r += 1) {
    const amount = float64At(used, r);
    if (amount > 0 && amount > float64At(room, r) * rounding) return false;
  }
  return true;
}

/**
 * Asserts that no count of the ledger is below zero, that no limit or reservation is overdrawn, and
 * that no node holds more than its room.
 */
export function assertLedgersHold(engine: Engine): void {
  assert(engine.ledger.neverNegative(), 'no count of pods per domain is below zero');
  assert(engine.accounts.neverOverdrawn(), 'no account of a limit or reservation is below zero');
  for (const { room, used, contents } of engine.existing)
    if (room !== undefined && contents.size > 0)
      assert(fits(used, room.free), 'the pods placed on an existing node fit its free room');
  for (const { state, used, contents } of engine.fresh)
    if (contents.size > 0)
      assert(
        state !== undefined && holdsLoad(state, used),
        'some offer of a new node holds its pods',
      );
}

/**
 * The widest rooms hold the load of nearly every node, so the many other offers are read only if
 * they do not.
 */
const holdsLoad = (state: State, used: Float64Array): boolean =>
  state.widest.some((room) => fits(used, room)) ||
  state.offers.some(({ type }) => fits(used, type.room));
