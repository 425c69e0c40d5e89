import { at, float64At, int32At } from '@dovetail/core-invariant';

import type { State } from '../match/states.js';
import { afterKind, ClosedNodes, copyOf, emptyBin, putKind, settle } from './bins.js';
import { byRatio, type Estimate, targetsFor } from './estimates.js';
import { filled, fillUp, worthOf } from './fill.js';
import type { Kind } from './kinds.js';
import { type PackBin, type PackContext } from './packing.js';
import { dot } from './prices.js';
import { Stock } from './stock.js';

/**
 * Targets that are tried for each new node, and existing nodes that are offered a larger type. More
 * of them may find a better node and take more time.
 */
const targetsMax = 6;
const upgradesMax = 3;
/** Existing nodes that are searched for such upgrades, so that a step does not read them all. */
const nodesSearchedMax = 1024;
/**
 * Exchanges that top off a node with the most valuable pods. An evenly filled node gets none. More
 * exchanges raise the worth of a node a little and take more time.
 */
const swapsMax = 4;
/**
 * The factor on the merit of growing a node. It makes growing win against a new node of nearly
 * equal merit, because fewer nodes leave fewer gaps.
 */
const growthBonus = 1.01;
/**
 * A node whose worth reaches this share of its price is taken without comparing others. A higher
 * share compares more nodes and takes more time.
 */
const goodEnough = 0.995;
/**
 * Worth for money counts as near the best from this share of the best. A lower share allows smaller
 * nodes, which pods fill less well.
 */
const nearBest = 0.97;

function sumWith(bin: PackBin, kind: Kind): Float64Array {
  return bin.used.map((amount, r) => amount + float64At(kind.requests, r));
}

/**
 * The nodes to start with and the pods that are left, by kind index. If `closed`, no node may be
 * added.
 */
export type Fleet = {
  readonly bins: readonly PackBin[];
  readonly left: Int32Array;
  readonly closed: boolean;
};

/**
 * The greedy construction. Each step opens or grows the node that gives most worth for its price.
 */
class Greedy {
  readonly bins: PackBin[];
  readonly #context: PackContext;
  readonly #stock: Stock;
  readonly #evenly: boolean;
  /** Whether no nodes may open beside those of the fleet. */
  readonly #closed: boolean;
  readonly #closedNodes = new ClosedNodes();
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

  /**
   * Places the kinds of which each node takes few first, because they decide how many nodes there
   * must be.
   */
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
   * Returns the kinds that need many nodes, those of the largest groups first. They open the nodes
   * that other kinds then share.
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
    // The sort is stable: within a group the most valuable pods stay first.
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
          this.#closedNodes.has(kind, bin) ||
          worthOf(this.#context, bin) + worth > cap ||
          !this.#closedNodes.takes(this.#context, bin, kind)
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

  /** Adds the pods that fit a bin without a dearer type; they cost nothing. */
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
    for (
      let step = 0;
      step < Math.min(this.bins.length, nodesSearchedMax) && tried < upgradesMax;
      step += 1
    ) {
      const bin = at(this.bins, (this.#grown + step) % this.bins.length);
      if (!this.#closedNodes.takes(this.#context, bin, seed)) continue;
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
      // Estimates come best first, and no node has a better ratio than its estimate.
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
      // Growing an existing node wins ties, because it saves a node.
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
    // The last copies are not made, so that their pods can combine with others at the end.
    const copies = Math.max(1, times > 2 ? times - 1 : 1);
    this.#takeGain(undefined, best.bin, copies);
    this.bins.push(best.bin);
    for (let copy = 1; copy < copies; copy += 1)
      this.bins.push({ ...copyOf(best.bin), id: this.bins.length });
  }
}

/**
 * Returns the worth of the smallest node whose value for money is near the best. Larger nodes gain
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
    if (worth / Math.max(1, offering.priceMicrosPerHour) >= nearBest * best) return worth;
  }
  return Infinity;
}

/**
 * Packs all pods greedily. `evenly` fills each node so that its resources run out together;
 * otherwise the most valuable pods come first. The result is undefined if `shouldStop` ends the
 * packing, or if a closed `fleet` cannot hold all pods.
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
