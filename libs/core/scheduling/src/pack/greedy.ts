import { at, float64At, int32At } from '@dovetail/core-invariant';

import type { State } from '../match/states.js';
import { afterKind, ClosedDoors, copyOf, emptyBin, putKind, settle } from './bins.js';
import { byRatio, type Estimate, targetsFor } from './estimates.js';
import { filled, fillUp, worthOf } from './fill.js';
import type { Kind } from './kinds.js';
import { type PackBin, type PackContext } from './packing.js';
import { dot } from './prices.js';
import { Stock } from './stock.js';

/**
 * How many targets are tried for each new node, and how many nodes may be offered a larger type.
 */
const targetsMax = 6;
const upgradesMax = 3;
/** Exchanges that top a node off; one that was filled evenly gains nothing by them. */
const swapsMax = 4;
/** Growing a node that is there is preferred to opening another of equal value. */
const growthBonus = 1.01;
/**
 * Nothing is worth more than its price, so a node this well filled need not be compared with
 * others.
 */
const goodEnough = 0.995;

function sumWith(bin: PackBin, kind: Kind): Float64Array {
  return bin.used.map((amount, r) => amount + float64At(kind.requests, r));
}

/**
 * Nodes to begin with, with what each must hold; the pods that are left to pack, by kind; and
 * whether nodes may be added.
 */
export type Fleet = {
  readonly bins: readonly PackBin[];
  readonly left: Int32Array;
  readonly closed: boolean;
};

/** Greedy construction: nodes are opened, or grown, for what gives most value per dollar. */
class Greedy {
  readonly bins: PackBin[];
  readonly #context: PackContext;
  readonly #stock: Stock;
  readonly #evenly: boolean;
  /** No node may be opened beyond those of the fleet. */
  readonly #closed: boolean;
  readonly #doors = new ClosedDoors();
  #grown = 0;
  #cursor = 0;

  constructor(context: PackContext, evenly: boolean, fleet: Fleet | undefined) {
    this.#context = context;
    this.#evenly = evenly;
    this.#closed = fleet?.closed === true;
    this.bins = fleet?.bins.map(copyOf) ?? [];
    this.#stock = new Stock(
      context,
      fleet === undefined
        ? Int32Array.from(context.kinds.map((kind) => kind.count))
        : Int32Array.from(fleet.left),
    );
  }

  run(shouldStop: () => boolean): boolean {
    if (!this.#spreadLimited()) return false;
    for (const [index, bin] of this.bins.entries()) this.bins[index] = this.#topOff(bin);
    for (let seed = this.#stock.first(); seed !== undefined; seed = this.#stock.first()) {
      if (shouldStop() || !this.#placeSeed(seed)) return false;
    }
    return true;
  }

  /** Kinds of which a node takes few come first: they decide how many nodes there must be. */
  #spreadLimited(): boolean {
    const caps = new Map<number, number>();
    for (const kind of this.#limitedKinds()) {
      const opening = at(kind.openings, 0);
      const cap =
        caps.get(opening.id) ?? (this.#closed ? Infinity : comfortable(this.#context, opening) * 4);
      caps.set(opening.id, cap);
      if (!this.#spreadKind(kind, opening, cap)) return false;
    }
    return this.bins.every((bin) => settle(bin));
  }

  /**
   * Kinds that need many nodes, those of the largest groups first: they open what the others then
   * share.
   */
  #limitedKinds(): readonly Kind[] {
    const limited = this.#stock.sizes
      .flatMap((size) => size.kinds)
      .map((index) => at(this.#context.kinds, index))
      .filter((kind) => Number.isFinite(kind.perHost) || kind.roles.some((role) => role.carries));
    const sizes = new Map<number, number>();
    const groupOf = (kind: Kind): number =>
      kind.roles.find((role) => role.carries && role.selected)?.group.id ?? -1 - kind.index;
    for (const kind of limited)
      sizes.set(groupOf(kind), (sizes.get(groupOf(kind)) ?? 0) + kind.count / kind.perHost);
    const size = (kind: Kind): number => sizes.get(groupOf(kind)) ?? 0;
    // Stable: within a group the most valuable pods stay first.
    return limited.sort((a, b) => size(b) - size(a));
  }

  #spreadKind(kind: Kind, opening: State, cap: number): boolean {
    const count = int32At(this.#stock.left, kind.index);
    let left = count;
    const worth = float64At(this.#context.worth, kind.index);
    while (left > 0) {
      const before = left;
      for (let step = this.bins.length; step > 0 && left > 0; step -= 1) {
        this.#cursor = this.#cursor + 1 < this.bins.length ? this.#cursor + 1 : 0;
        const bin = at(this.bins, this.#cursor);
        if (
          this.#doors.has(kind, bin) ||
          worthOf(this.#context, bin) + worth > cap ||
          !this.#doors.takes(this.#context, bin, kind)
        )
          continue;
        putKind(this.#context, bin, kind, 1);
        left -= 1;
      }
      if (left === before) {
        if (this.#closed) return false;
        const bin = emptyBin(this.#context, this.bins.length, opening);
        putKind(this.#context, bin, kind, 1);
        this.bins.push(bin);
        left -= 1;
      }
    }
    this.#stock.take(kind.index, count);
    return true;
  }

  /** What fits beside a bin's pods without a dearer type costs nothing. */
  #topOff(bin: PackBin): PackBin {
    const target = { room: bin.room, price: bin.price };
    const full = filled(this.#context, bin, { target, supply: this.#stock, swapsMax: 2 });
    if (full === undefined || full.price > bin.price) return bin;
    this.#takeGain(bin, full, 1);
    return full;
  }

  #takeGain(before: PackBin | undefined, after: PackBin, times: number): void {
    for (const [index, count] of after.contents)
      this.#stock.take(index, (count - (before?.contents.get(index) ?? 0)) * times);
  }

  #estimates(seed: Kind): readonly Estimate[] {
    const supplyWorth = this.#stock.worth;
    const estimates: Estimate[] = [];
    if (!this.#closed)
      for (const state of seed.openings)
        estimates.push(
          ...targetsFor(this.#context, state, {
            need: seed.requests,
            supplyWorth,
            grow: undefined,
            most: targetsMax,
          }),
        );
    let tried = 0;
    for (let step = 0; step < Math.min(this.bins.length, 1024) && tried < upgradesMax; step += 1) {
      const bin = at(this.bins, (this.#grown + step) % this.bins.length);
      if (!this.#doors.takes(this.#context, bin, seed)) continue;
      tried += 1;
      const state = afterKind(this.#context, bin.state, seed) as State;
      estimates.push(
        ...targetsFor(this.#context, state, {
          need: sumWith(bin, seed),
          supplyWorth,
          grow: bin,
          most: 2,
        }),
      );
    }
    return estimates.sort(byRatio).slice(0, targetsMax + 2);
  }

  #placeSeed(seed: Kind): boolean {
    let best:
      | { readonly bin: PackBin; readonly grow: PackBin | undefined; readonly merit: number }
      | undefined;
    for (const { target, state, grow, ratio: most } of this.#estimates(seed)) {
      // Estimates come best first, and no node turns out better than its estimate.
      if (best !== undefined && most * growthBonus <= best.merit) break;
      const bin =
        grow === undefined ? emptyBin(this.#context, this.bins.length, state) : copyOf(grow);
      putKind(this.#context, bin, seed, 1);
      this.#stock.left[seed.index] = int32At(this.#stock.left, seed.index) - 1;
      const bought = fillUp(this.#context, bin, {
        target,
        supply: this.#stock,
        swapsMax: this.#evenly ? 0 : swapsMax,
        evenly: this.#evenly,
      });
      this.#stock.left[seed.index] = int32At(this.#stock.left, seed.index) + 1;
      if (!bought) continue;
      const before = grow === undefined ? 0 : worthOf(this.#context, grow);
      const ratio =
        (worthOf(this.#context, bin) - before) / Math.max(1, bin.price - (grow?.price ?? 0));
      // A node less is worth a little: nodes that are there already win ties.
      const merit = ratio * (grow === undefined ? 1 : growthBonus);
      if (best === undefined || merit > best.merit) best = { bin, grow, merit };
      if (merit >= goodEnough && grow === undefined) break;
    }
    if (best === undefined) return false;
    this.#commit(best);
    return true;
  }

  #commit(best: { readonly bin: PackBin; readonly grow: PackBin | undefined }): void {
    if (best.grow !== undefined) {
      const entry = this.bins.indexOf(best.grow);
      this.bins[entry] = best.bin;
      this.#grown = entry + 1;
      this.#takeGain(best.grow, best.bin, 1);
      return;
    }
    let times = Infinity;
    for (const [index, count] of best.bin.contents)
      times = Math.min(times, Math.floor(int32At(this.#stock.left, index) / count));
    // Stopping before the last copies leaves pods to combine with others at the end.
    const copies = Math.max(1, times > 2 ? times - 1 : 1);
    this.#takeGain(undefined, best.bin, copies);
    this.bins.push(best.bin);
    for (let copy = 1; copy < copies; copy += 1)
      this.bins.push({ ...copyOf(best.bin), id: this.bins.length });
  }
}

/**
 * The worth of the smallest node whose value for money is close to the best: beyond it, size gains
 * little.
 */
export function comfortable(context: PackContext, state: State): number {
  let best = 0;
  for (const { type, offering } of state.frontier)
    best = Math.max(
      best,
      dot(context.perUnit, type.room) / Math.max(1, offering.priceMicrosPerHour),
    );
  for (const { type, offering } of state.frontier) {
    const worth = dot(context.perUnit, type.room);
    if (worth / Math.max(1, offering.priceMicrosPerHour) >= 0.97 * best) return worth;
  }
  return Infinity;
}

/**
 * Packs everything greedily, each node with the most valuable pods first or `evenly`; undefined
 * when stopped before the end, or when a closed `fleet` cannot hold everything.
 */
export function greedyPack(
  context: PackContext,
  evenly: boolean,
  shouldStop: () => boolean,
  fleet?: Fleet,
): readonly PackBin[] | undefined {
  const greedy = new Greedy(context, evenly, fleet);
  return greedy.run(shouldStop) ? greedy.bins : undefined;
}
