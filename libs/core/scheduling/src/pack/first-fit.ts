import { at } from '@dovetail/core-invariant';

import { ClosedDoors, emptyBin, putKind, settle } from './bins.js';
import type { Kind } from './kinds.js';
import { type PackBin, type PackContext } from './packing.js';

/** New nodes by their number of pods, fewest first, as Karpenter tries them. */
class ByPods {
  readonly #rows: PackBin[][] = [];
  readonly #doors = new ClosedDoors();

  add(bin: PackBin): void {
    (this.#rows[bin.pods] ??= []).push(bin);
  }

  /**
   * Puts up to `count` pods of a kind, one at a time, always on the node with the fewest pods that
   * takes one.
   */
  place(context: PackContext, kind: Kind, count: number): number {
    let left = count;
    for (let pods = 0; pods < this.#rows.length && left > 0; pods += 1) {
      const row = this.#rows[pods];
      if (row === undefined || row.length === 0) continue;
      for (let place = 0; place < row.length && left > 0;) {
        const bin = at(row, place);
        if (!this.#doors.takes(context, bin, kind)) {
          place += 1;
          continue;
        }
        putKind(context, bin, kind, 1);
        left -= 1;
        // The last of the row takes its place: order within a row does not matter, only that it is
        // always the same.
        const last = row.pop() as PackBin;
        if (last !== bin) row[place] = last;
        this.add(bin);
      }
    }
    return count - left;
  }
}

/**
 * First-fit-decreasing in Karpenter's shape, for kinds: a pod joins the node with the fewest pods
 * that takes it, else a node is opened in the first pool that can. The start that no other may be
 * dearer than; given up (undefined) as soon as it costs more than `mostPrice`, because nodes only
 * get dearer as they fill. `counts`: pods by kind, if not all of them.
 */
export function firstFitPack(
  context: PackContext,
  mostPrice: number,
  counts?: Int32Array,
): readonly PackBin[] | undefined {
  const open = new ByPods();
  const bins: PackBin[] = [];
  let placed = 0;
  for (const kind of context.kinds) {
    const count = counts?.[kind.index] ?? kind.count;
    placed += count;
    if (placed > 512) {
      placed = 0;
      if (sumOf(bins) > mostPrice) return undefined;
    }
    let left = count - open.place(context, kind, count);
    while (left > 0) {
      const bin = emptyBin(context, bins.length, at(kind.openings, 0));
      bins.push(bin);
      putKind(context, bin, kind, 1);
      left -= 1;
      open.add(bin);
      left -= open.place(context, kind, left);
    }
  }
  return sumOf(bins) > mostPrice ? undefined : bins;
}

function sumOf(bins: readonly PackBin[]): number {
  let sum = 0;
  for (const bin of bins) {
    settle(bin);
    sum += bin.price;
  }
  return sum;
}
