import { at } from '@dovetail/core-invariant';

import type { Bin } from '../rooms/bin.js';
import type { Engine } from '../rooms/engine.js';
import type { Item } from '../rooms/items.js';

/** A binary heap of new nodes: fewest pods first, older nodes first among equals. */
class EmptiestFirst {
  readonly #heap: Bin[];

  constructor(bins: readonly Bin[]) {
    this.#heap = [...bins].sort((a, b) => a.pods - b.pods || a.index - b.index);
  }

  peek(): Bin | undefined {
    return this.#heap[0];
  }

  pop(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.sink();
  }

  push(bin: Bin): void {
    const heap = this.#heap;
    let at = heap.push(bin) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#before(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  /** Restores the order after the first bin has received pods. */
  sink(): void {
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
    const [left, right] = [at(this.#heap, a), at(this.#heap, b)];
    return left.pods < right.pods || (left.pods === right.pods && left.index < right.index);
  }

  #swap(a: number, b: number): void {
    const heap = this.#heap;
    [heap[a], heap[b]] = [at(heap, b), at(heap, a)];
  }
}

/**
 * Opens a node in the first pool, heaviest first, that can take the item. Returns undefined if no
 * pool can, or if the item waits for a reservation.
 */
function openFor(engine: Engine, item: Item): Bin | undefined {
  for (const template of engine.world.templates) {
    const opening = engine.openingFor(template, item);
    if (opening !== undefined) return engine.open(opening);
    if (engine.waitsForReservation(template, item)) return undefined;
  }
  return undefined;
}

/**
 * Places pods first-fit-decreasing in the order of Karpenter's scheduler. Each pod joins the new
 * node with the fewest pods that takes it, or opens a node in the first pool that can. Returns how
 * many pods found a place.
 */
export function placeEmptiestFirst(engine: Engine, item: Item, count: number): number {
  const open = new EmptiestFirst(engine.fresh);
  let left = count;
  while (left > 0) {
    const bin = open.peek();
    if (bin === undefined) {
      const fresh = openFor(engine, item);
      if (fresh === undefined) break;
      engine.put(fresh, item, 1);
      open.push(fresh);
    } else if (engine.roomInFresh(bin, item) > 0) {
      engine.put(bin, item, 1);
      open.sink();
    } else {
      open.pop();
      continue;
    }
    left -= 1;
  }
  return count - left;
}
