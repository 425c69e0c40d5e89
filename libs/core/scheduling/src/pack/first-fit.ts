import type { State } from '../match/states.js';
import { flexibleRoom, emptyBin, putKind, settle, type PackBin, type PackContext } from './bins.js';
import type { Kind } from './kinds.js';

/** New nodes by their number of pods, fewest first, as Karpenter tries them. */
class ByPods {
  readonly #rows: PackBin[][] = [];

  add(bin: PackBin): void {
    (this.#rows[bin.pods] ??= []).push(bin);
  }

  /** Puts up to `count` pods of a kind, one at a time, always on the node with the fewest pods that takes one. */
  place(context: PackContext, kind: Kind, count: number): number {
    let left = count;
    for (let pods = 0; pods < this.#rows.length && left > 0; pods += 1) {
      const row = this.#rows[pods];
      if (row === undefined || row.length === 0) continue;
      for (let at = 0; at < row.length && left > 0;) {
        const bin = row[at] as PackBin;
        if (flexibleRoom(context, bin, kind) <= 0) { at += 1; continue; }
        putKind(context, bin, kind, 1);
        left -= 1;
        // The last of the row takes its place: order within a row does not matter, only that it is always the same.
        const last = row.pop() as PackBin;
        if (last !== bin) row[at] = last;
        this.add(bin);
      }
    }
    return count - left;
  }
}

/**
 * First-fit-decreasing in Karpenter's shape, for kinds: a pod joins the node with the fewest pods that takes it, else a
 * node is opened in the first pool that can. The start that no other may be dearer than.
 */
export function firstFitPack(context: PackContext): readonly PackBin[] {
  const open = new ByPods();
  const bins: PackBin[] = [];
  for (const kind of context.kinds) {
    let left = kind.count - open.place(context, kind, kind.count);
    while (left > 0) {
      const bin = emptyBin(context, bins.length, kind.openings[0] as State);
      bins.push(bin);
      putKind(context, bin, kind, 1);
      left -= 1;
      open.add(bin);
      left -= open.place(context, kind, left);
    }
  }
  for (const bin of bins) settle(bin);
  return bins;
}
