import { at, float64At } from '@dovetail/core-invariant';

import { type Target } from '../pack/packing.js';
import { dot } from '../pack/prices.js';

/** Node types that hold a demand together, and their price. */
export type Combination = { readonly targets: readonly Target[]; readonly price: number };

/** The demand of a combination and the limits on the search. */
export type CombinationDemand = {
  readonly demand: Float64Array;
  /** Nodes that every combination contains. */
  readonly given: readonly Target[];
  /**
   * The prices of resources. Invariant: no node costs less than its usable room is worth at them.
   */
  readonly perUnit: Float64Array;
  readonly limits: CombinationLimits;
};

/** The bounds of a search for combinations of nodes. */
export type CombinationLimits = {
  /** The fewest and the most nodes besides the given ones. */
  readonly countMin: number;
  readonly countMax: number;
  /** The highest price of a combination. */
  readonly priceMax: number;
  /** The most sets to look at, complete or not. */
  readonly visitsMax: number;
  /** The most combinations to return. */
  readonly keptMax: number;
};

/**
 * Finds sets of node types whose rooms add up to a demand. No type costs less than its room is
 * worth. A set therefore costs at least its price so far plus the worth of the rest, and most sets
 * are given up early.
 */
class CombinationSearch {
  readonly #targets: readonly Target[];
  readonly #perUnit: Float64Array;
  readonly #limits: CombinationLimits;
  readonly #chosen: Target[];
  /** The demand that is left to cover, by the number of nodes added. */
  readonly #residuals: readonly Float64Array[];
  #found: Combination[] = [];
  #priceMax: number;
  #visits = 0;

  constructor(targets: readonly Target[], what: CombinationDemand) {
    this.#targets = targets;
    this.#perUnit = what.perUnit;
    this.#limits = what.limits;
    this.#chosen = [...what.given];
    this.#priceMax = what.limits.priceMax;
    this.#residuals = Array.from(
      { length: what.limits.countMax + 1 },
      () => new Float64Array(what.perUnit.length),
    );
  }

  run(residual: Float64Array, price: number): readonly Combination[] {
    at(this.#residuals, 0).set(residual);
    this.#extend(0, { from: 0, price });
    return this.#found.sort((a, b) => a.price - b.price).slice(0, this.#limits.keptMax);
  }

  /** Adds one more node. Types before `from` are skipped, so that no set is found twice. */
  #extend(depth: number, what: { readonly from: number; readonly price: number }): void {
    const residual = at(this.#residuals, depth);
    const next = at(this.#residuals, depth + 1);
    const last = depth + 1 >= this.#limits.countMax;
    for (
      let choice = what.from;
      choice < this.#targets.length && this.#visits < this.#limits.visitsMax;
      choice += 1
    ) {
      this.#visits += 1;
      const target = at(this.#targets, choice);
      const price = what.price + target.price;
      if (price > this.#priceMax || (last && !coversAll(target.usable ?? target.room, residual)))
        continue;
      const rest = this.#cover(residual, target.usable ?? target.room, next);
      if (rest < 0) {
        if (depth + 1 >= this.#limits.countMin) this.#keep([...this.#chosen, target], price);
      } else if (!last && price + rest <= this.#priceMax) {
        this.#chosen.push(target);
        this.#extend(depth + 1, { from: choice, price });
        this.#chosen.pop();
      }
    }
  }

  /**
   * Writes the demand that is left after a room to `next`. Returns its worth; -1 if nothing is
   * left.
   */
  #cover(residual: Float64Array, room: Float64Array, next: Float64Array): number {
    let worth = 0;
    let covered = true;
    for (let r = 0; r < residual.length; r += 1) {
      const left = float64At(residual, r) - float64At(room, r);
      next[r] = left > 0 ? left : 0;
      if (left <= 0) continue;
      covered = false;
      worth += left * float64At(this.#perUnit, r);
    }
    return covered ? -1 : worth;
  }

  #keep(targets: readonly Target[], price: number): void {
    this.#found.push({ targets, price });
    if (this.#found.length < 2 * this.#limits.keptMax) return;
    this.#found = this.#found.sort((a, b) => a.price - b.price).slice(0, this.#limits.keptMax);
    this.#priceMax = this.#found.at(-1)?.price ?? this.#priceMax;
  }
}

function coversAll(room: Float64Array, residual: Float64Array): boolean {
  for (let r = 0; r < residual.length; r += 1)
    if (float64At(residual, r) > float64At(room, r)) return false;
  return true;
}

/**
 * Returns cheap combinations whose rooms add up to a demand, cheapest first. The pods may still not
 * divide over them.
 */
export function combinationsFor(
  targets: readonly Target[],
  what: CombinationDemand,
): readonly Combination[] {
  const { demand, given, perUnit, limits } = what;
  const residual = demand.map((amount, r) =>
    Math.max(
      0,
      given.reduce((left, { room, usable = room }) => left - float64At(usable, r), amount),
    ),
  );
  const price = given.reduce((sum, target) => sum + target.price, 0);
  const spare = limits.priceMax - price - dot(perUnit, residual);
  if (spare < 0) return [];
  const rated = targets
    .map((target) => ({ target, waste: usefulWaste(target, perUnit, residual) }))
    .filter(({ waste }) => waste <= spare);
  const worthwhile = rated
    .sort((a, b) => a.waste / a.target.price - b.waste / b.target.price)
    .map(({ target }) => target);
  return new CombinationSearch(worthwhile, what).run(residual, price);
}

/** Returns the price of a type less the worth of the part of its room that the demand can use. */
function usefulWaste(
  { room, usable = room, price }: Target,
  perUnit: Float64Array,
  demand: Float64Array,
): number {
  let worth = 0;
  for (let r = 0; r < perUnit.length; r += 1)
    worth += float64At(perUnit, r) * Math.min(float64At(usable, r), float64At(demand, r));
  return price - worth;
}
