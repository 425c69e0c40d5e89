import { at, float64At, int32At } from '@dovetail/core-invariant';

import { afterKind, copyOf, noteRules, ruleRoom, settle } from '../pack/bins.js';
import { stillBuys } from '../pack/fill.js';
import type { Kind, Portion } from '../pack/kinds.js';
import { type PackBin, type PackContext, type Target } from '../pack/packing.js';
import { dot } from '../pack/prices.js';
import type { RandomNumbers } from './random-numbers.js';

/** A node to fill: its contents so far, and the type that it should become. */
export type Shell = { readonly bin: PackBin; readonly target: Target };

/**
 * Tolerance for rounding, so that sums that round differently exclude no pod that fits exactly.
 * Larger than that rounding, and small beside any amount.
 */
const rounding = 1 + 1e-9;
/**
 * Rounds of moving pods aside before an assembly is given up. More rounds complete more assemblies
 * and take more time.
 */
const repairsMax = 24;

/**
 * Divides pods over nodes of given types: the most valuable first, each to the node whose free
 * resources suit it best.
 */
class Assembly {
  readonly #context: PackContext;
  readonly #bins: readonly PackBin[];
  readonly #targets: readonly Target[];
  readonly #kinds: readonly Kind[];
  /** The pods of each portion, by node. */
  readonly #counts: readonly Int32Array[];
  /** The worth of each resource per share of a node's room, by node. */
  readonly #weights: readonly Float64Array[];
  readonly #left: Int32Array;
  /** The requests of one pod of each portion, side by side in memory. */
  readonly #requests: Float64Array;
  /**
   * The worth of one pod of each portion. Invariant: never more than that of the portion before.
   */
  readonly #worths: Float64Array;
  /**
   * Buffers per resource. `#least` and `#leastBack` are the least that a pod must free for another
   * to fit. `#mostBack` is the most that a pod may request to fit elsewhere.
   */
  readonly #least: Float64Array;
  readonly #leastBack: Float64Array;
  readonly #mostBack: Float64Array;
  #leftOver = 0;

  constructor(context: PackContext, shells: readonly Shell[], portions: readonly Portion[]) {
    this.#context = context;
    this.#bins = shells.map(({ bin }) => copyOf(bin));
    this.#targets = shells.map(({ target }) => target);
    this.#kinds = portions.map(({ kind }) => kind);
    this.#counts = shells.map(() => new Int32Array(portions.length));
    this.#left = Int32Array.from(portions.map(({ count }) => count));
    const width = context.perUnit.length;
    this.#requests = new Float64Array(portions.length * width);
    this.#worths = new Float64Array(portions.length);
    portions.forEach(({ kind }, portion) => {
      this.#requests.set(kind.requests, portion * width);
      this.#worths[portion] = float64At(context.worth, kind.index);
    });
    [this.#least, this.#leastBack, this.#mostBack] = [
      new Float64Array(width),
      new Float64Array(width),
      new Float64Array(width),
    ];
    this.#weights = shells.map(({ target }) =>
      context.perUnit.map((price, r) =>
        float64At(target.room, r) > 0 ? price / float64At(target.room, r) : 0,
      ),
    );
  }

  run(random: RandomNumbers): readonly PackBin[] | undefined {
    for (let portion = 0; portion < this.#kinds.length; portion += 1) this.#spread(portion);
    for (let round = 0; this.#leftOver > 0; round += 1)
      if (round >= repairsMax || !this.#repair(random)) return undefined;
    return this.#finish();
  }

  /** Puts the pods of one portion on nodes, one by one, each on the node that suits it best. */
  #spread(portion: number): void {
    while (int32At(this.#left, portion) > 0) {
      const bin = this.#bestFor(portion);
      if (bin < 0) {
        this.#leftOver += int32At(this.#left, portion);
        return;
      }
      this.#put(bin, portion, 1);
      this.#left[portion] = int32At(this.#left, portion) - 1;
    }
  }

  #bestFor(portion: number): number {
    let best = -1;
    let most = -Infinity;
    const { requests } = at(this.#kinds, portion);
    for (let index = 0; index < this.#bins.length; index += 1) {
      const { used } = at(this.#bins, index);
      const { room } = at(this.#targets, index);
      const weights = at(this.#weights, index);
      let score = 0;
      let fits = true;
      for (let r = 0; r < requests.length; r += 1) {
        const free = float64At(room, r) - float64At(used, r);
        const wanted = float64At(requests, r);
        if (wanted > free) {
          fits = false;
          break;
        }
        score += float64At(weights, r) * wanted * free;
      }
      if (fits && score > most && this.#allows(index, portion)) [best, most] = [index, score];
    }
    return best;
  }

  /** Whether rules and offers admit one more pod. Resources are not checked. */
  #allows(index: number, portion: number): boolean {
    const bin = at(this.#bins, index);
    const kind = at(this.#kinds, portion);
    if (!kind.plain && ruleRoom(this.#context, bin, kind) <= 0) return false;
    const next = afterKind(this.#context, bin.state, kind);
    return next !== undefined && (next === bin.state || stillBuys(next, at(this.#targets, index)));
  }

  #put(index: number, portion: number, count: number): void {
    const bin = at(this.#bins, index);
    const kind = at(this.#kinds, portion);
    const counts = at(this.#counts, index);
    for (let r = 0; r < bin.used.length; r += 1)
      bin.used[r] = float64At(bin.used, r) + float64At(kind.requests, r) * count;
    counts[portion] = int32At(counts, portion) + count;
    if (count > 0) bin.state = afterKind(this.#context, bin.state, kind) ?? bin.state;
    noteRules(bin, kind, count);
  }

  /**
   * Places one pod that is left over, by moving another pod aside. Returns false if no such move
   * exists.
   */
  #repair(random: RandomNumbers): boolean {
    for (let portion = 0; portion < this.#kinds.length; portion += 1) {
      if (int32At(this.#left, portion) === 0) continue;
      const start = random.below(this.#bins.length);
      for (let step = 0; step < this.#bins.length; step += 1) {
        if (!this.#makeRoom((start + step) % this.#bins.length, portion)) continue;
        this.#left[portion] = int32At(this.#left, portion) - 1;
        this.#leftOver -= 1;
        return true;
      }
      // An assembly fails as soon as one pod cannot be placed.
      return false;
    }
    return true;
  }

  /**
   * Moves one pod to another node, or exchanges two pods, so that a pod of `portion` fits. Then it
   * places that pod.
   */
  #makeRoom(index: number, portion: number): boolean {
    const counts = at(this.#counts, index);
    const worthMin = this.#lacking(this.#least, index, portion);
    for (let out = 0; out < counts.length && float64At(this.#worths, out) >= worthMin; out += 1) {
      if (int32At(counts, out) === 0 || out === portion || !this.#asksAtLeast(this.#least, out))
        continue;
      this.#put(index, out, -1);
      const other = this.#otherFor(index, out);
      if (other >= 0 && this.#allows(index, portion)) {
        this.#put(other, out, 1);
        this.#put(index, portion, 1);
        return true;
      }
      if (this.#allows(index, portion) && this.#exchange(index, { at: portion, out })) return true;
      this.#put(index, out, 1);
    }
    return false;
  }

  /**
   * Moves `out` to another node that gives a smaller pod back. The smaller pod must leave room for
   * `at`. Invariant: `out` has been taken from its node.
   */
  #exchange(index: number, what: { readonly at: number; readonly out: number }): boolean {
    const { at: portion, out } = what;
    this.#put(index, portion, 1);
    const { used } = at(this.#bins, index);
    const { room } = at(this.#targets, index);
    for (let r = 0; r < used.length; r += 1)
      this.#mostBack[r] = float64At(room, r) - float64At(used, r);
    const first = this.#notAbove(dot(this.#context.perUnit, this.#mostBack) * rounding);
    for (let other = 0; other < this.#bins.length; other += 1) {
      if (other === index) continue;
      const counts = at(this.#counts, other);
      const worthMin = this.#lacking(this.#leastBack, other, out);
      for (
        let back = first;
        back < counts.length && float64At(this.#worths, back) >= worthMin;
        back += 1
      ) {
        if (int32At(counts, back) === 0 || back === out || back === portion) continue;
        if (!this.#asksAtLeast(this.#leastBack, back) || !this.#asksAtMost(this.#mostBack, back))
          continue;
        this.#put(other, back, -1);
        if (this.#allows(other, out) && this.#allows(index, back)) {
          this.#put(other, out, 1);
          this.#put(index, back, 1);
          return true;
        }
        this.#put(other, back, 1);
      }
    }
    this.#put(index, portion, -1);
    return false;
  }

  /**
   * Writes the amounts that a node lacks for one more pod of a portion. Returns their worth,
   * rounded down.
   */
  #lacking(lack: Float64Array, index: number, portion: number): number {
    const { used } = at(this.#bins, index);
    const { room } = at(this.#targets, index);
    let worth = 0;
    for (let r = 0; r < lack.length; r += 1) {
      const amount =
        float64At(used, r) +
        float64At(this.#requests, portion * lack.length + r) -
        float64At(room, r);
      lack[r] = amount;
      if (amount > 0) worth += amount * float64At(this.#context.perUnit, r);
    }
    return worth / rounding;
  }

  /** Returns the first portion whose worth is at most `worth`. */
  #notAbove(worth: number): number {
    let low = 0;
    let high = this.#worths.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (float64At(this.#worths, middle) > worth) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #asksAtLeast(amounts: Float64Array, portion: number): boolean {
    for (let r = 0; r < amounts.length; r += 1)
      if (float64At(this.#requests, portion * amounts.length + r) < float64At(amounts, r))
        return false;
    return true;
  }

  #asksAtMost(amounts: Float64Array, portion: number): boolean {
    for (let r = 0; r < amounts.length; r += 1)
      if (float64At(this.#requests, portion * amounts.length + r) > float64At(amounts, r))
        return false;
    return true;
  }

  /** Returns the first other node that takes one more pod; -1 if none does. */
  #otherFor(index: number, portion: number): number {
    for (let other = 0; other < this.#bins.length; other += 1)
      if (other !== index && this.#fits(other, portion) && this.#allows(other, portion))
        return other;
    return -1;
  }

  #fits(index: number, portion: number): boolean {
    const { used } = at(this.#bins, index);
    const { room } = at(this.#targets, index);
    const { requests } = at(this.#kinds, portion);
    for (let r = 0; r < used.length; r += 1)
      if (float64At(used, r) + float64At(requests, r) > float64At(room, r)) return false;
    return true;
  }

  #finish(): readonly PackBin[] | undefined {
    for (const [index, bin] of this.#bins.entries()) {
      const counts = at(this.#counts, index);
      for (let portion = 0; portion < counts.length; portion += 1) {
        const count = int32At(counts, portion);
        if (count === 0) continue;
        const { index: kind } = at(this.#kinds, portion);
        bin.contents.set(kind, (bin.contents.get(kind) ?? 0) + count);
        bin.pods += count;
      }
      if (!settle(bin)) return undefined;
    }
    return this.#bins.filter((bin) => bin.pods > 0);
  }
}

/**
 * Divides all portions, most valuable first, over the shells. Returns the filled nodes; undefined
 * if some pod finds no place.
 */
export function assemble(
  context: PackContext,
  shells: readonly Shell[],
  portions: readonly Portion[],
  random: RandomNumbers,
): readonly PackBin[] | undefined {
  return new Assembly(context, shells, portions).run(random);
}
