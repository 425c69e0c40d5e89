import { at, float64At } from '@dovetail/core-invariant';

import { dot, resourcePrices } from '../pack/prices.js';
import type { Item } from './loads.js';
import type { MayShare } from './sharing.js';

/** A node to fill: its room, and the items that it admits. */
export type Sack = { readonly room: Float64Array; readonly admits: (item: number) => boolean };

/** The number of partial loads that may still be looked at. Searches share it. */
export type VisitsLeft = { visits: number };

/** Which loads of a node are looked for, and where they are told. */
export type LoadSearch = {
  /** Loads that are worth at most this are left out. `found` may raise it. */
  readonly least: () => number;
  readonly budget: VisitsLeft;
  readonly found: (counts: readonly number[], worth: number) => void;
};

/** An item in the order in which it is tried. `rated` is its worth at the rates of resources. */
type Entry = {
  readonly item: number;
  readonly requests: Float64Array;
  readonly count: number;
  readonly worth: number;
  readonly rated: number;
};

/** Tolerance for rounding, as a share of a worth. */
const rounding = 1e-9;

/**
 * Returns a rate for each resource of a node. No load is worth more than the node's room at these
 * rates and, for each pod, what it is worth beyond its requests. Any rates would do; these make the
 * sum small.
 */
function ratesOf(room: Float64Array, entries: readonly Omit<Entry, 'rated'>[]): Float64Array {
  const resources = [...room].map((amount, r) => ({
    room: Float64Array.from(entries.map(({ requests }) => float64At(requests, r))),
    price: amount,
  }));
  return resourcePrices(resources, Float64Array.from(entries.map(({ worth }) => worth))).nodes;
}

/** Goes through the loads of one node, and leaves out those that cannot be worth enough. */
class Filling {
  readonly #entries: readonly Entry[];
  readonly #rates: Float64Array;
  /** The worth of the items from an entry on, beyond their requests at the rates. */
  readonly #beyond: Float64Array;
  readonly #free: Float64Array;
  readonly #counts: number[];
  readonly #mayShare: MayShare | undefined;
  readonly #search: LoadSearch;

  constructor(
    sack: Sack,
    what: {
      readonly items: readonly Item[];
      readonly worths: Float64Array;
      readonly mayShare: MayShare | undefined;
    },
    search: LoadSearch,
  ) {
    this.#mayShare = what.mayShare;
    this.#search = search;
    this.#counts = what.items.map(() => 0);
    this.#free = Float64Array.from(sack.room);
    const entries = what.items
      .map(({ requests, count }, item) => ({
        item,
        requests,
        count,
        worth: Math.max(0, float64At(what.worths, item)),
      }))
      .filter(
        ({ item, requests }) =>
          sack.admits(item) && requests.every((amount, r) => amount <= float64At(sack.room, r)),
      );
    this.#rates = ratesOf(sack.room, entries);
    this.#entries = entries
      .map((entry) => ({ ...entry, rated: dot(this.#rates, entry.requests) }))
      .sort((a, b) => b.worth * a.rated - a.worth * b.rated || b.worth - a.worth);
    this.#beyond = new Float64Array(this.#entries.length + 1);
    for (let place = this.#entries.length - 1; place >= 0; place -= 1) {
      const { count, worth, rated } = at(this.#entries, place);
      this.#beyond[place] = float64At(this.#beyond, place + 1) + count * Math.max(0, worth - rated);
    }
  }

  /** No load is worth more. */
  get most(): number {
    return (dot(this.#rates, this.#free) + float64At(this.#beyond, 0)) * (1 + rounding);
  }

  /** Returns false if there are more loads than the search may look at. */
  run(): boolean {
    return this.#from(0, 0, dot(this.#rates, this.#free));
  }

  /** Whether no further pod of any item fits. */
  isFull(): boolean {
    return !this.#entries.some((_, place) => this.#takes(place));
  }

  #from(place: number, worth: number, spare: number): boolean {
    this.#search.budget.visits -= 1;
    if (this.#search.budget.visits < 0) return false;
    if ((worth + spare + float64At(this.#beyond, place)) * (1 + rounding) <= this.#search.least())
      return true;
    const entry = this.#entries[place];
    if (entry === undefined) {
      if (this.isFull()) this.#search.found([...this.#counts], worth);
      return true;
    }
    let taken = 0;
    while (this.#takes(place)) {
      this.#put(entry, 1);
      taken += 1;
    }
    let goesOn = true;
    for (; taken >= 0; taken -= 1) {
      goesOn &&= this.#from(place + 1, worth + taken * entry.worth, spare - taken * entry.rated);
      if (taken > 0) this.#put(entry, -1);
    }
    return goesOn;
  }

  #takes(place: number): boolean {
    const { item, requests, count } = at(this.#entries, place);
    if (at(this.#counts, item) >= count) return false;
    for (let r = 0; r < requests.length; r += 1)
      if (float64At(requests, r) > float64At(this.#free, r) + 1e-9) return false;
    return this.#mayShare === undefined || this.#mayShare(this.#counts, item);
  }

  #put({ item, requests }: Entry, times: number): void {
    this.#counts[item] = at(this.#counts, item) + times;
    for (let r = 0; r < requests.length; r += 1)
      this.#free[r] = float64At(this.#free, r) - float64At(requests, r) * times;
  }
}

/** The most worth of any load of a node, rounded up, and a load of that worth if one was found. */
export type Worthiest = { readonly most: number; readonly counts?: readonly number[] };

/** Finds what single nodes may hold, by the worth of each item. */
export class Knapsack {
  readonly #items: readonly Item[];
  readonly #mayShare: MayShare | undefined;

  constructor(items: readonly Item[], mayShare?: MayShare) {
    this.#items = items;
    this.#mayShare = mayShare;
  }

  /**
   * Returns the load of a node that is worth the most, if it is worth more than `least`. If the
   * budget ends the search, it is the best one so far. `most` holds in any case.
   */
  worthiest(
    sack: Sack,
    worths: Float64Array,
    what: { readonly least: number; readonly budget: VisitsLeft },
  ): Worthiest {
    let { least } = what;
    let best: readonly number[] | undefined;
    const filling = this.#filling(sack, worths, {
      least: () => least,
      budget: what.budget,
      found: (counts, worth) => {
        if (worth > least) [best, least] = [counts, worth];
      },
    });
    const { most } = filling;
    const ended = most <= least || filling.run();
    const found = best === undefined ? {} : { counts: best };
    return { most: ended ? Math.min(most, least * (1 + rounding)) : most, ...found };
  }

  /**
   * Tells `found` the fullest loads that are worth more than `least`. Returns false if there are
   * too many partial loads to look at.
   */
  loads(sack: Sack, worths: Float64Array, search: LoadSearch): boolean {
    const filling = this.#filling(sack, worths, search);
    return filling.most <= search.least() || filling.run();
  }

  #filling(sack: Sack, worths: Float64Array, search: LoadSearch): Filling {
    return new Filling(sack, { items: this.#items, worths, mayShare: this.#mayShare }, search);
  }
}
