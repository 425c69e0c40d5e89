import { at, float64At, int32At, numberAt } from '@dovetail/core-invariant';

import type { State } from '../match/states.js';
import { timesFitting } from '../rooms/fitting.js';
import { afterKind, copyOf, putKind, ruleRoom, settle } from './bins.js';
import { type Candidates, FewCandidates, type SizeTable, TableCandidates } from './candidates.js';
import type { Kind } from './kinds.js';
import type { Target } from './packing.js';
import { type PackBin, type PackContext, type Size } from './packing.js';
import { dot } from './prices.js';

/**
 * The pods that are still to be packed: the count of each kind, and the sizes, most valuable first.
 * `table` is present if many nodes are filled from the supply.
 */
export type Supply = {
  readonly left: Int32Array;
  readonly sizes: readonly Size[];
  readonly table?: SizeTable;
};

/** Whether a state still has an offer that is no dearer than the target and holds as much. */
export function stillBuys(state: State, target: Target): boolean {
  for (const { type, offering } of state.frontier) {
    if (offering.priceMicrosPerHour > target.price) return false;
    if (
      type.room === target.room ||
      target.room.every((amount, r) => amount <= float64At(type.room, r))
    )
      return true;
  }
  return false;
}

/** Returns how many of a kind may join, apart from resources; 0 if it may not. */
export function allowedIn(
  context: PackContext,
  bin: PackBin,
  what: { readonly kind: Kind; readonly target: Target },
): number {
  const { kind, target } = what;
  const times = kind.plain ? Infinity : ruleRoom(context, bin, kind);
  if (times <= 0) return 0;
  const next = afterKind(context, bin.state, kind);
  return next === undefined || (next !== bin.state && !stillBuys(next, target)) ? 0 : times;
}

/** Fills a bin up to its target, the most valuable pods first. */
export function fill(
  context: PackContext,
  bin: PackBin,
  what: { readonly target: Target; readonly supply: Supply },
): void {
  const { target, supply } = what;
  for (const size of supply.sizes) {
    let room = timesFitting(target.room, bin.used, size.requests);
    for (let place = 0; room > 0 && place < size.kinds.length; place += 1) {
      const index = numberAt(size.kinds, place);
      const left = int32At(supply.left, index);
      if (left <= 0) continue;
      const kind = at(context.kinds, index);
      const times = Math.min(left, room, allowedIn(context, bin, { kind, target }));
      if (times <= 0) continue;
      putKind(context, bin, kind, times);
      room -= times;
    }
  }
}

type Joining = { readonly kind: Kind; readonly times: number };
type Taking = {
  readonly target: Target;
  readonly supply: Supply;
  readonly taken: ReadonlyMap<number, number>;
};

/** Returns the first kind of a size with pods left that may join, and how many of it. */
function joining(
  context: PackContext,
  bin: PackBin,
  what: Taking,
  size: Size,
): Joining | undefined {
  const { target, supply, taken } = what;
  const room = timesFitting(target.room, bin.used, size.requests);
  for (let place = 0; room > 0 && place < size.kinds.length; place += 1) {
    const kind = at(context.kinds, numberAt(size.kinds, place));
    const left = int32At(supply.left, kind.index) - (taken.get(kind.index) ?? 0);
    const times = left <= 0 ? 0 : Math.min(left, room, allowedIn(context, bin, { kind, target }));
    if (times > 0) return { kind, times };
  }
  return undefined;
}

/**
 * Fills a bin so that its resources run out together. Each step takes the size that best suits the
 * room that is left.
 */
function fillEvenly(
  context: PackContext,
  bin: PackBin,
  what: { readonly target: Target; readonly supply: Supply },
): void {
  const taken = new Map<number, number>();
  const taking: Taking = { target: what.target, supply: what.supply, taken };
  const { sizes, table } = what.supply;
  const candidates: Candidates =
    table === undefined ? new FewCandidates(context.perUnit, sizes) : new TableCandidates(table);
  const node = { used: bin.used, room: what.target.room };
  for (;;) {
    const found = candidates.best(node, (size) => joining(context, bin, taking, size));
    if (found === undefined) return;
    // Pods join in portions, because the best size changes as the bin fills. Smaller portions
    // follow the change more closely and take more steps.
    const times = Math.max(1, Math.ceil(found.times / 3));
    putKind(context, bin, found.kind, times);
    taken.set(found.kind.index, (taken.get(found.kind.index) ?? 0) + times);
  }
}

/** The least gain of an exchange in micro-dollars an hour: above rounding, below any real gain. */
const leastGain = 1e-6;

type Exchange = { readonly out: Kind; readonly into: Kind };
type SwapSpace = {
  readonly target: Target;
  readonly supply: Supply;
  readonly before: ReadonlyMap<number, number> | undefined;
};

/** Returns a plain kind of a size with more pods left than the bin has already taken. */
function available(
  context: PackContext,
  bin: PackBin,
  size: Size,
  space: SwapSpace,
): Kind | undefined {
  for (const index of size.kinds) {
    const kind = at(context.kinds, index);
    const taken = (bin.contents.get(index) ?? 0) - (space.before?.get(index) ?? 0);
    if (
      kind.plain &&
      int32At(space.supply.left, index) > taken &&
      allowedIn(context, bin, { kind, target: space.target }) > 0
    )
      return kind;
  }
  return undefined;
}

/**
 * Returns the exchange that raises the worth of the bin most: a pod outside that fits in place of
 * one inside.
 */
function bestExchange(context: PackContext, bin: PackBin, space: SwapSpace): Exchange | undefined {
  let best: Exchange | undefined;
  let gain = leastGain;
  for (const [out, count] of bin.contents) {
    const leaving = at(context.kinds, out);
    if (!leaving.plain || count <= (space.before?.get(out) ?? 0)) continue;
    for (const size of space.supply.sizes) {
      const more = size.worth - float64At(context.worth, out);
      // Sizes are sorted by worth, so no later size gains more.
      if (more <= gain) break;
      if (!fitsInstead(bin, space.target, { joining: size.requests, leaving: leaving.requests }))
        continue;
      const into = available(context, bin, size, space);
      if (into === undefined) continue;
      [best, gain] = [{ out: leaving, into }, more];
      break;
    }
  }
  return best;
}

function fitsInstead(
  bin: PackBin,
  target: Target,
  what: { readonly joining: Float64Array; readonly leaving: Float64Array },
): boolean {
  for (let r = 0; r < bin.used.length; r += 1) {
    const after = float64At(bin.used, r) - float64At(what.leaving, r) + float64At(what.joining, r);
    if (after > float64At(target.room, r)) return false;
  }
  return true;
}

/**
 * Exchanges pods one for one as long as each exchange raises the worth of the bin. The pods of
 * `before` stay.
 */
function exchange(context: PackContext, bin: PackBin, space: SwapSpace, roundsMax: number): void {
  for (let round = 0; round < roundsMax; round += 1) {
    const found = bestExchange(context, bin, space);
    if (found === undefined) return;
    putKind(context, bin, found.out, -1);
    putKind(context, bin, found.into, 1);
  }
}

/**
 * The target and the supply of a bin, and the limit on exchanges. `evenly` fills the bin so that
 * its resources run out together.
 */
export type Fill = {
  readonly target: Target;
  readonly supply: Supply;
  readonly swapsMax: number;
  readonly evenly?: boolean;
};

/**
 * Fills a bin for a target and settles it on the cheapest offer that holds it. Returns false if no
 * offer does.
 */
export function fillUp(context: PackContext, bin: PackBin, what: Fill): boolean {
  const before = what.swapsMax > 0 ? new Map(bin.contents) : undefined;
  if (what.evenly === true) fillEvenly(context, bin, what);
  else fill(context, bin, what);
  if (before !== undefined)
    exchange(context, bin, { target: what.target, supply: what.supply, before }, what.swapsMax);
  return settle(bin);
}

/** Returns a filled copy of a bin; undefined if no offer holds it. */
export function filled(context: PackContext, from: PackBin, what: Fill): PackBin | undefined {
  const bin = copyOf(from);
  return fillUp(context, bin, what) ? bin : undefined;
}

/** Returns the worth of a bin's contents in micro-dollars an hour. */
export const worthOf = (context: PackContext, bin: PackBin): number =>
  dot(context.perUnit, bin.used);
