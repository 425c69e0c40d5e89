import { timesFitting } from '../build/engine.js';
import type { State } from '../match/states.js';
import { copyOf, putKind, ruleRoom, settle, type PackBin, type PackContext } from './bins.js';
import type { Kind } from './kinds.js';
import { dot } from './prices.js';

/** The node that a bin is being filled for. */
export type Target = { readonly room: Float64Array; readonly price: number };

/** Pods still to be packed: how many of each kind, and the kinds in the order in which they are tried. */
export type Supply = { readonly left: Int32Array; readonly order: readonly number[] };

/** Whether a state still leaves an offer that is no dearer than the target and holds as much. */
function stillBuys(state: State, target: Target): boolean {
  for (const { type, offering } of state.frontier) {
    if (offering.priceMicrosPerHour > target.price) return false;
    if (type.room === target.room || target.room.every((amount, r) => amount <= (type.room[r] ?? 0))) return true;
  }
  return false;
}

/** How many of a kind a bin takes within its target's room. */
function roomWithin(context: PackContext, bin: PackBin, what: { readonly kind: Kind; readonly target: Target }): number {
  const { kind, target } = what;
  let times = timesFitting(target.room, bin.used, kind.requests);
  if (times > 0 && !kind.plain) times = Math.min(times, ruleRoom(context, bin, kind));
  if (times <= 0) return 0;
  const next = context.states.after(bin.state, kind.shape);
  if (next === undefined || (next !== bin.state && !stillBuys(next, target))) return 0;
  return times;
}

/** Fills a bin up to its target with the most valuable pods first. */
export function fill(context: PackContext, bin: PackBin, what: { readonly target: Target; readonly supply: Supply }): void {
  const { target, supply } = what;
  for (const index of supply.order) {
    const left = supply.left[index] as number;
    if (left <= 0) continue;
    const kind = context.kinds[index] as Kind;
    const times = Math.min(left, roomWithin(context, bin, { kind, target }));
    if (times > 0) putKind(context, bin, kind, times);
  }
}

const triesMax = 192;

/** The pod outside that is worth most more than one inside, and fits in its place. */
function bestSwap(context: PackContext, bin: PackBin, what: { readonly target: Target; readonly supply: Supply; readonly before: ReadonlyMap<number, number> | undefined }): { readonly out: number; readonly into: number } | undefined {
  const { target, supply } = what;
  let best: { readonly out: number; readonly into: number } | undefined;
  let gain = 1e-6;
  const stride = Math.max(1, Math.ceil(supply.order.length / triesMax));
  for (const [out, count] of bin.contents) {
    if (count <= (what.before?.get(out) ?? 0)) continue;
    const leaving = context.kinds[out] as Kind;
    if (!leaving.plain) continue;
    for (let at = 0; at < supply.order.length; at += stride) {
      const into = supply.order[at] as number;
      const more = (context.worth[into] as number) - (context.worth[out] as number);
      // The order is by worth: nothing further on is worth more than what would leave.
      if (more <= 0) break;
      if (more <= gain || (supply.left[into] as number) - (bin.contents.get(into) ?? 0) + (what.before?.get(into) ?? 0) <= 0) continue;
      const joining = context.kinds[into] as Kind;
      if (joining.plain && fitsInstead(bin, target, { joining, leaving })) [best, gain] = [{ out, into }, more];
    }
  }
  return best;
}

function fitsInstead(bin: PackBin, target: Target, what: { readonly joining: Kind; readonly leaving: Kind }): boolean {
  for (let r = 0; r < bin.used.length; r += 1) {
    const after = (bin.used[r] as number) - (what.leaving.requests[r] as number) + (what.joining.requests[r] as number);
    if (after > (target.room[r] as number)) return false;
  }
  return true;
}

/** Exchanges pods one for one while that puts more value into the bin. `before` stays as it is. */
export function swap(context: PackContext, bin: PackBin, what: { readonly target: Target; readonly supply: Supply; readonly before: ReadonlyMap<number, number> | undefined; readonly roundsMax: number }): void {
  for (let round = 0; round < what.roundsMax; round += 1) {
    const found = bestSwap(context, bin, what);
    if (found === undefined) return;
    const joining = context.kinds[found.into] as Kind;
    const next = context.states.after(bin.state, joining.shape);
    if (next === undefined || (next !== bin.state && !stillBuys(next, what.target))) return;
    putKind(context, bin, context.kinds[found.out] as Kind, -1);
    putKind(context, bin, joining, 1);
  }
}

/** A filled copy of a bin for one target, settled on the cheapest offer that holds it; undefined when none does. */
export function filled(context: PackContext, from: PackBin, what: { readonly target: Target; readonly supply: Supply; readonly swapsMax: number }): PackBin | undefined {
  const bin = copyOf(from);
  fill(context, bin, what);
  if (what.swapsMax > 0) swap(context, bin, { target: what.target, supply: what.supply, before: from.contents, roundsMax: what.swapsMax });
  return settle(bin) ? bin : undefined;
}

/** What a bin's contents are worth. */
export const worthOf = (context: PackContext, bin: PackBin): number => dot(context.perUnit, bin.used);
