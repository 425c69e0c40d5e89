import { at, float64At, int32At } from '@dovetail/core-invariant';

import { afterKind, copyOf, noteRules, ruleRoom, settle } from '../pack/bins.js';
import { stillBuys } from '../pack/fill.js';
import type { Kind, Portion } from '../pack/kinds.js';
import { type PackBin, type PackContext, type Target } from '../pack/packing.js';
import { dot } from '../pack/prices.js';
import type { Choices } from './choices.js';

/** A node that is to be filled: what it holds already, and the type it is meant to be. */
export type Shell = { readonly bin: PackBin; readonly target: Target };

/** Sums that round differently must not rule out what fits exactly. */
const rounding = 1 + 1e-9;
/** How many rounds of moving pods aside are tried before an assembly is given up. */
const repairsMax = 24;

/**
 * Divides pods over nodes of given types: largest first, each to the node whose free resources suit
 * it best.
 */
class Assembly {
  readonly #context: PackContext;
  readonly #bins: readonly PackBin[];
  readonly #targets: readonly Target[];
  readonly #kinds: readonly Kind[];
  /** By node, pods of each portion. */
  readonly #counts: readonly Int32Array[];
  /** Worth of a unit over the room it is a unit of, by node: scarce where little is left. */
  readonly #weights: readonly Float64Array[];
  readonly #left: Int32Array;
  /** What one pod of each portion asks for, side by side in memory. */
  readonly #requests: Float64Array;
  /** What one pod of each portion is worth: never more than one of the portion before. */
  readonly #worths: Float64Array;
  /**
   * What a pod must give back at least for another to fit, and what it may ask for at most to fit
   * elsewhere.
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

  run(choices: Choices): readonly PackBin[] | undefined {
    for (let portion = 0; portion < this.#kinds.length; portion += 1) this.#spread(portion);
    for (let round = 0; this.#leftOver > 0; round += 1)
      if (round >= repairsMax || !this.#repair(choices)) return undefined;
    return this.#finish();
  }

  /** Puts the pods of one portion one by one on the node that suits each best. */
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

  /** Whether everything but resources lets one more pod in. */
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
   * Finds one pod that is left over a place by moving another aside; false when no such move is
   * there.
   */
  #repair(choices: Choices): boolean {
    for (let portion = 0; portion < this.#kinds.length; portion += 1) {
      if (int32At(this.#left, portion) === 0) continue;
      const start = choices.below(this.#bins.length);
      for (let step = 0; step < this.#bins.length; step += 1) {
        if (!this.#makeRoom((start + step) % this.#bins.length, portion)) continue;
        this.#left[portion] = int32At(this.#left, portion) - 1;
        this.#leftOver -= 1;
        return true;
      }
      // One pod that cannot be placed is enough to fail.
      return false;
    }
    return true;
  }

  /**
   * Moves one pod from a node to another, or exchanges two, so that the pod of portion `at` fits;
   * and puts it there.
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
   * With `out` taken from its node: another node takes it if it gives a smaller pod back that still
   * leaves room for `at`.
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
   * Notes how much of each resource a node lacks for one more pod of a portion, and gives what that
   * is worth at least.
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

  /** The first portion of which a pod is not worth more. */
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

  /** The first other node that takes one more pod; -1 when none does. */
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
 * Divides all of the portions, most valuable first, over the shells; undefined when that was not
 * managed.
 */
export function assemble(
  context: PackContext,
  shells: readonly Shell[],
  portions: readonly Portion[],
  choices: Choices,
): readonly PackBin[] | undefined {
  return new Assembly(context, shells, portions).run(choices);
}
