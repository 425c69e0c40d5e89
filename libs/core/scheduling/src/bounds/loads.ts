import { at, float64At } from '@dovetail/core-invariant';

import type { MayShare } from './sharing.js';

/** A node that can be bought in one place: its room, its price, and the items that it admits. */
export type Purchase = {
  readonly room: Float64Array;
  readonly priceMicrosPerHour: number;
  readonly admits: readonly boolean[];
};

/** The pods of one kind: the requests of each, and their number. */
export type Item = { readonly requests: Float64Array; readonly count: number };

/** A load of one node: pods by item, and the least price of a node that holds them. */
export type Load = { readonly counts: readonly number[]; readonly priceMicrosPerHour: number };

/** The most loads that are looked at. More make a program that takes longer than bounds may. */
export const loadsMax = 4_000;
/** The most ways to fill nodes that are looked at: about 50 ms. */
const fillingsMax = 400_000;

/** Whether a node can take the place of another: it holds as much, of as many items. */
const replaces = (other: Purchase, { room, admits }: Purchase): boolean =>
  room.every((amount, r) => amount <= float64At(other.room, r)) &&
  admits.every((admitted, item) => !admitted || other.admits[item] === true);

/** Returns the nodes that no other node replaces at a price that is no higher, cheapest first. */
export function worthBuying(nodes: readonly Purchase[]): readonly Purchase[] {
  const kept: Purchase[] = [];
  for (const node of [...nodes].sort((a, b) => a.priceMicrosPerHour - b.priceMicrosPerHour))
    if (!kept.some((other) => replaces(other, node))) kept.push(node);
  return kept;
}

const atLeast = (a: readonly number[], b: readonly number[]): boolean =>
  a.every((count, index) => count >= at(b, index));

/** Collects the loads that no other load covers at a price that is no higher. */
export class Kept {
  readonly loads: Load[] = [];

  /**
   * Adds a load of one node. Nodes come in order of price, so a new load can only be covered, and
   * never covers.
   */
  add(counts: readonly number[], priceMicrosPerHour: number): void {
    if (this.loads.some((load) => atLeast(load.counts, counts))) return;
    this.loads.push({ counts, priceMicrosPerHour });
  }
}

/** Goes through the loads of one node that no further pod fits. */
class Filling {
  readonly #node: Purchase;
  readonly #items: readonly Item[];
  readonly #mayShare: MayShare;
  readonly #counts: number[];
  readonly #free: Float64Array;
  readonly #found: (counts: readonly number[], fullest: boolean) => boolean;

  constructor(
    node: Purchase,
    what: { readonly items: readonly Item[]; readonly mayShare: MayShare },
    found: (counts: readonly number[], fullest: boolean) => boolean,
  ) {
    this.#node = node;
    this.#items = what.items;
    this.#mayShare = what.mayShare;
    this.#counts = what.items.map(() => 0);
    this.#free = Float64Array.from(node.room);
    this.#found = found;
  }

  /** Fills with items from this one on. Returns false once `found` wants no more. */
  from(index: number): boolean {
    const item = this.#items[index];
    if (item === undefined)
      return this.#found([...this.#counts], !this.#items.some((_, other) => this.#takes(other)));
    let taken = 0;
    while (this.#takes(index)) {
      this.#put(index, 1);
      taken += 1;
    }
    let goesOn = this.from(index + 1);
    // With fewer pods of the last item, one more would fit.
    const last = index === this.#items.length - 1;
    for (; taken > 0; taken -= 1) {
      this.#put(index, -1);
      if (!last) goesOn &&= this.from(index + 1);
    }
    return goesOn;
  }

  #takes(index: number): boolean {
    const { requests, count } = at(this.#items, index);
    return (
      at(this.#node.admits, index) &&
      at(this.#counts, index) < count &&
      requests.every((amount, r) => amount <= float64At(this.#free, r) + 1e-9) &&
      this.#mayShare(this.#counts, index)
    );
  }

  #put(index: number, times: number): void {
    this.#counts[index] = at(this.#counts, index) + times;
    at(this.#items, index).requests.forEach((amount, r) => {
      this.#free[r] = float64At(this.#free, r) - amount * times;
    });
  }
}

/**
 * Returns the fullest loads of the nodes of one place, each at its least price; undefined if there
 * are too many. A plan's node holds a part of one of them, at no less than its price.
 */
export function fullestLoads(
  nodes: readonly Purchase[],
  items: readonly Item[],
  mayShare: MayShare,
): readonly Load[] | undefined {
  const kept = new Kept();
  let seen = 0;
  for (const node of worthBuying(nodes)) {
    const goesOn = new Filling(node, { items, mayShare }, (counts, fullest) => {
      if (fullest && counts.some((count) => count > 0)) kept.add(counts, node.priceMicrosPerHour);
      seen += 1;
      return seen <= fillingsMax && kept.loads.length <= loadsMax;
    }).from(0);
    if (!goesOn) return undefined;
    // The rest is dearer and holds no more than everything.
    if (kept.loads.some(({ counts }) => counts.every((n, i) => n === at(items, i).count))) break;
  }
  return kept.loads;
}
