import { float64At } from '@dovetail/core-invariant';

import { ByAmounts, placeOf } from '../model/amounts.js';
import type { Kind } from './kinds.js';
import type { PackContext } from './packing.js';

/**
 * Pods of equal requests and demands on the node. They may take the places of pods with the same
 * demands on any two nodes, as far as there is room and hostname rules allow it.
 */
export type Slot = {
  readonly index: number;
  readonly requests: Float64Array;
  readonly worth: number;
  /**
   * The nodes that hold such pods, and the kinds: those with most free room when the round began
   * first, and after `sorted` those that got one since. They may have given it away.
   */
  readonly holders: { readonly place: number; readonly kind: Kind }[];
  sorted: number;
};

/** The slots by shape, and the slot of each kind by its index; none for kinds with host ports. */
export type Slots = {
  readonly byShape: ReadonlyMap<number, readonly Slot[]>;
  readonly ofKind: readonly (Slot | undefined)[];
};

/** Returns the slots of all kinds, with no holders. */
export function slotsOf({ kinds, worth }: PackContext): Slots {
  const known = new ByAmounts<Slot>();
  const byShape = new Map<number, Slot[]>();
  let index = 0;
  const ofKind = kinds.map((kind) => {
    if (kind.ports.length > 0) return undefined;
    const entry = placeOf(known.after(kind.shape.id), kind.requests);
    if (entry.value === undefined) {
      const worthOfOne = float64At(worth, kind.index);
      const { requests } = kind;
      entry.value = { index, requests, worth: worthOfOne, holders: [], sorted: 0 };
      index += 1;
      const mine = byShape.get(kind.shape.id) ?? [];
      byShape.set(kind.shape.id, mine);
      mine.push(entry.value);
    }
    return entry.value;
  });
  return { byShape, ofKind };
}
