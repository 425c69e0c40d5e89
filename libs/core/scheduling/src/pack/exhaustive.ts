import { int32At } from '@dovetail/core-invariant';

import { emptyBin, putKind, settle } from './bins.js';
import type { Kind } from './kinds.js';
import { type FillingsLeft, fullestLoads, type NodeLoad } from './loads.js';
import type { PackBin, PackContext } from './packing.js';
import { dot } from './prices.js';

/** The most pods of a packing that is small enough to go through. */
export const exhaustivePodsMax = 100;
/**
 * The most ways to fill nodes, and the most choices of a next node, that are looked at: about ten
 * milliseconds. A thorough look is at `thoroughTimes` as many. Higher limits allow
 * larger packings and take more time.
 */
const fillingsMax = 8_000;
const choicesMax = 40_000;
const thoroughTimes = 3;

/** The cheapest way to pack a remainder: the next node, its contents and the price of all. */
type Best = { readonly price: number; readonly load: NodeLoad | undefined };

/**
 * Kinds in an order in which those of one state follow each other, and kinds that may join several
 * states come last. The nodes of one domain are then packed before those of the next, so that
 * their combinations add up and do not multiply.
 */
const inOrder = (kinds: readonly Kind[]): readonly Kind[] => {
  const offers = (kind: Kind): number => kind.openings[0]?.offers.length ?? 0;
  const state = (kind: Kind): number => kind.openings[0]?.id ?? -1;
  return [...kinds].sort(
    (a, b) => offers(a) - offers(b) || state(a) - state(b) || a.index - b.index,
  );
};

/** Goes through the ways to pack all pods, remembering the best one of each remainder. */
class Exhaustive {
  readonly #context: PackContext;
  readonly #order: readonly Kind[];
  readonly #best = new Map<string, Best>();
  readonly #loads = new Map<number, readonly NodeLoad[]>();
  readonly #fillings: FillingsLeft;
  #choices: number;
  readonly #shouldStop: () => boolean;
  #gaveUp = false;

  constructor(context: PackContext, times: number, shouldStop: () => boolean) {
    this.#fillings = { left: fillingsMax * times };
    this.#choices = choicesMax * times;
    this.#context = context;
    this.#order = inOrder(context.kinds);
    this.#shouldStop = shouldStop;
  }

  run(): readonly PackBin[] | undefined {
    const left = Int32Array.from(this.#context.kinds.map((kind) => kind.count));
    this.#cheapest(left);
    return this.#gaveUp ? undefined : this.#packed(left);
  }

  #cheapest(left: Int32Array): number {
    const place = this.#order.findIndex((kind) => int32At(left, kind.index) > 0);
    if (place < 0) return 0;
    const key = left.join(',');
    const known = this.#best.get(key);
    if (known !== undefined) return known.price;
    if (this.#shouldStop()) this.#gaveUp = true;
    let best: Best = { price: Infinity, load: undefined };
    for (const load of this.#loadsOf(place)) {
      this.#choices -= 1;
      if (this.#choices < 0) this.#gaveUp = true;
      if (this.#gaveUp) break;
      const rest = left.map((count, index) => Math.max(0, count - int32At(load.counts, index)));
      if (load.price + this.#worthOf(rest) >= best.price) continue;
      const price = load.price + this.#cheapest(rest);
      if (price < best.price) best = { price, load };
    }
    this.#best.set(key, best);
    return best.price;
  }

  /** No node costs less than its contents are worth at the best price of each resource. */
  #worthOf(left: Int32Array): number {
    let worth = 0;
    for (const kind of this.#context.kinds)
      worth += int32At(left, kind.index) * dot(this.#context.duals, kind.requests);
    return worth;
  }

  #loadsOf(place: number): readonly NodeLoad[] {
    let loads = this.#loads.get(place);
    if (loads === undefined) {
      const found = fullestLoads(this.#context, this.#order.slice(place), this.#fillings);
      if (found === undefined) this.#gaveUp = true;
      // Those that are worth the most for their price come first, so that others are given up soon.
      // Of equal ones the fuller comes first, which leaves fewer nodes.
      const { duals } = this.#context;
      const merit = ({ used, price }: NodeLoad): number => dot(duals, used) / Math.max(1, price);
      loads = [...(found ?? [])].sort((a, b) => merit(b) - merit(a) || b.price - a.price);
      this.#loads.set(place, loads);
    }
    return loads;
  }

  /** Returns the nodes along the best choices. */
  #packed(all: Int32Array): readonly PackBin[] | undefined {
    const bins: PackBin[] = [];
    const left = all.slice();
    while (left.some((count) => count > 0)) {
      const load = this.#best.get(left.join(','))?.load;
      if (load === undefined) return undefined;
      const bin = emptyBin(this.#context, bins.length, load.opening);
      for (const kind of this.#order) {
        const count = Math.min(int32At(left, kind.index), int32At(load.counts, kind.index));
        if (count === 0) continue;
        putKind(this.#context, bin, kind, count);
        left[kind.index] = int32At(left, kind.index) - count;
      }
      if (!settle(bin)) return undefined;
      bins.push(bin);
    }
    return bins;
  }
}

/**
 * Returns the cheapest packing of few pods, with one number of pods of each kind in mind: those
 * that existing nodes and domains have left to new nodes. Returns undefined for more pods, or if
 * there are too many ways to pack them.
 */
export function exhaustivePack(
  context: PackContext,
  what: { readonly thorough: boolean; readonly shouldStop: () => boolean },
): readonly PackBin[] | undefined {
  const pods = context.kinds.reduce((sum, kind) => sum + kind.count, 0);
  if (pods === 0 || pods > exhaustivePodsMax) return undefined;
  return new Exhaustive(context, what.thorough ? thoroughTimes : 1, what.shouldStop).run();
}
