import { at } from '@dovetail/core-invariant';

import { ClosedNodes, emptyBin, putKind, settle } from './bins.js';
import type { Kind } from './kinds.js';
import { type PackBin, type PackContext } from './packing.js';

/** New nodes by their number of pods, the fewest first, as Karpenter tries them. */
class ByPods {
  readonly #rows: PackBin[][] = [];
  readonly #closedNodes = new ClosedNodes();

  add(bin: PackBin): void {
    (this.#rows[bin.pods] ??= []).push(bin);
  }

  /**
   * Puts up to `count` pods of a kind on nodes, one at a time. Each goes to the node with the
   * fewest pods that takes it.
   */
  place(context: PackContext, kind: Kind, count: number): number {
    let left = count;
    for (let pods = 0; pods < this.#rows.length && left > 0; pods += 1) {
      const row = this.#rows[pods];
      if (row === undefined || row.length === 0) continue;
      for (let place = 0; place < row.length && left > 0;) {
        const bin = at(row, place);
        if (!this.#closedNodes.takes(context, bin, kind)) {
          place += 1;
          continue;
        }
        putKind(context, bin, kind, 1);
        left -= 1;
        // The last node of the row fills the gap. The order within a row is free, as long as it is
        // deterministic.
        const last = row.pop() as PackBin;
        if (last !== bin) row[place] = last;
        this.add(bin);
      }
    }
    return count - left;
  }
}

/**
 * The fewest pods placed between two checks of the price. A check prices every node, so there are
 * at least as many pods as nodes between them. More checks give up sooner.
 */
const podsPerCheck = 64;

/**
 * Packs kinds first-fit-decreasing in the order of Karpenter's scheduler. A pod joins the node with
 * the fewest pods that takes it, or opens a node in the first pool that can. The result is the
 * price that other packings must beat. It is undefined as soon as the nodes cost more than
 * `mostPrice`, because nodes only get dearer as they fill. `counts` limits the pods by kind index.
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
    if (placed > Math.max(podsPerCheck, bins.length)) {
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
