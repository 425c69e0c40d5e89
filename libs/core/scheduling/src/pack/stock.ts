import { float64At, int32At } from '@dovetail/core-invariant';

import { ByAmounts, placeOf } from '../model/amounts.js';
import { SizeTable } from './candidates.js';
import type { Supply } from './fill.js';
import type { Kind } from './kinds.js';
import type { PackContext, Size } from './packing.js';

/**
 * The pods that greedy packing still has to place. Invariant: `worth` is the worth of everything in
 * `left`, and `sizes` has exactly the sizes with pods left.
 */
export class Stock implements Supply {
  readonly left: Int32Array;
  readonly sizes: Size[];
  readonly table: SizeTable;
  /** The worth of all pods that are left. */
  worth: number;
  readonly #context: PackContext;
  /** The size of each kind that had pods at first, by kind index. */
  readonly #sizeOf: readonly (Size | undefined)[];

  constructor(context: PackContext, counts: Int32Array) {
    this.#context = context;
    this.left = counts;
    const sizes: Size[] = [];
    const known = new ByAmounts<Size>();
    this.#sizeOf = context.kinds.map((kind) => {
      if (counts[kind.index] === 0) return undefined;
      const entry = placeOf(known, kind.requests);
      if (entry.value === undefined)
        sizes.push(
          (entry.value = {
            requests: kind.requests,
            worth: float64At(context.worth, kind.index),
            kinds: [],
          }),
        );
      entry.value.kinds.push(kind.index);
      return entry.value;
    });
    // The sort is stable: sizes of equal worth stay in the order of their first kind.
    this.sizes = sizes.sort((a, b) => b.worth - a.worth);
    this.table = new SizeTable(context.perUnit, this.sizes);
    this.worth = context.kinds.reduce(
      (sum, kind) => sum + float64At(context.worth, kind.index) * int32At(counts, kind.index),
      0,
    );
  }

  /** Returns the most valuable kind with pods left. */
  first(): Kind | undefined {
    const index = this.sizes[0]?.kinds[0];
    return index === undefined ? undefined : this.#context.kinds[index];
  }

  take(index: number, count: number): void {
    if (count === 0) return;
    this.left[index] = int32At(this.left, index) - count;
    this.worth -= float64At(this.#context.worth, index) * count;
    if (this.left[index] === 0) this.#drop(index);
  }

  #drop(index: number): void {
    const size = this.#sizeOf[index];
    size?.kinds.splice(size.kinds.indexOf(index), 1);
    if (size === undefined || size.kinds.length > 0) return;
    this.sizes.splice(this.sizes.indexOf(size), 1);
    this.table.drop(size);
  }
}
