import { at } from '@dovetail/core-invariant';

import type { Bin } from '../rooms/bin.js';

/** A node with the number of pods it had when it was last sorted. */
type Entry = { readonly bin: Bin; readonly pods: number };

const before = (a: Entry, b: Entry): boolean =>
  a.pods < b.pods || (a.pods === b.pods && a.bin.index < b.bin.index);

/**
 * A binary heap of new nodes: fewest pods first, older nodes first among equals. Nodes may gain
 * pods while they are in it; the heap notices when they come up.
 */
export class EmptiestFirst {
  readonly #heap: Entry[];

  constructor(bins: readonly Bin[]) {
    this.#heap = bins
      .map((bin) => ({ bin, pods: bin.pods }))
      .sort((a, b) => a.pods - b.pods || a.bin.index - b.bin.index);
  }

  /** Returns the emptiest node that `takes` accepts. It removes the emptier ones for good. */
  first(takes: (bin: Bin) => boolean): Bin | undefined {
    for (;;) {
      const top = this.#heap[0];
      if (top === undefined) return undefined;
      if (top.pods !== top.bin.pods) {
        this.#heap[0] = { bin: top.bin, pods: top.bin.pods };
        this.#sink();
      } else if (takes(top.bin)) return top.bin;
      else this.#pop();
    }
  }

  push(bin: Bin): void {
    const heap = this.#heap;
    let at = heap.push({ bin, pods: bin.pods }) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#before(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #pop(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.#sink();
  }

  /** Restores the order after the first entry has changed. */
  #sink(): void {
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      if (left >= this.#heap.length) return;
      const child = left + 1 < this.#heap.length && this.#before(left + 1, left) ? left + 1 : left;
      if (!this.#before(child, at)) return;
      this.#swap(child, at);
      at = child;
    }
  }

  #before(a: number, b: number): boolean {
    return before(at(this.#heap, a), at(this.#heap, b));
  }

  #swap(a: number, b: number): void {
    const heap = this.#heap;
    [heap[a], heap[b]] = [at(heap, b), at(heap, a)];
  }
}
