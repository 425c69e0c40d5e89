import { at, int32At, numberAt } from '@dovetail/core-invariant';

import type { Supply } from '../pack/fill.js';
import type { PackBin, PackContext, Size } from '../pack/packing.js';

/**
 * The pods of dissolved nodes that need a place again. Invariant: `count` is the sum of `left`, and
 * `sizes` lists the sizes with pods left, the most valuable first.
 */
export class UnpackedPods implements Supply {
  readonly left: Int32Array;
  sizes: Size[] = [];
  count = 0;

  constructor(kinds: number) {
    this.left = new Int32Array(kinds);
  }

  /** Adds the pods of bins, without those that the bins must keep. */
  add(context: PackContext, bins: readonly PackBin[]): void {
    for (const { contents, base } of bins) {
      for (const [index, all] of contents) {
        const count = all - (base?.get(index) ?? 0);
        if (count === 0) continue;
        if (this.left[index] === 0) this.sizes.push(at(context.sizes, index));
        this.left[index] = int32At(this.left, index) + count;
        this.count += count;
      }
    }
    this.sizes.sort((a, b) => b.worth - a.worth || numberAt(a.kinds, 0) - numberAt(b.kinds, 0));
  }

  take(bin: PackBin): void {
    for (const [index, count] of bin.contents) {
      const taken = count - (bin.base?.get(index) ?? 0);
      this.left[index] = int32At(this.left, index) - taken;
      this.count -= taken;
    }
    this.sizes = this.sizes.filter(({ kinds }) => int32At(this.left, numberAt(kinds, 0)) > 0);
  }

  clear(): void {
    for (const { kinds } of this.sizes) this.left[numberAt(kinds, 0)] = 0;
    this.sizes = [];
    this.count = 0;
  }
}
