import { at, float64At, int32At } from '@dovetail/core-invariant';

import type { State } from '../match/states.js';
import { timesFitting } from '../rooms/fitting.js';
import { copyOf, emptyBin, putKind } from './bins.js';
import { allowedIn } from './fill.js';
import type { Kind } from './kinds.js';
import type { PackBin, PackContext, Target } from './packing.js';

/**
 * The pods of one node by kind index, their requests together, the state in which the node opens,
 * and the price of the cheapest node that holds them.
 */
export type NodeLoad = {
  readonly opening: State;
  readonly used: Float64Array;
  readonly counts: Int32Array;
  readonly price: number;
};

/** The limit on the ways to fill nodes that are looked at. The callers share it. */
export type FillingsLeft = { left: number };

/** Returns a set of bits for the kinds of a load. Kinds whose indexes differ by 32 share a bit. */
function bitsOf(counts: Int32Array): number {
  let bits = 0;
  for (let index = 0; index < counts.length; index += 1)
    if (int32At(counts, index) > 0) bits |= 1 << (index & 31);
  return bits;
}

/** Loads in order of price, without those whose pods an earlier one holds too. */
class FullestLoads {
  readonly all: NodeLoad[] = [];
  readonly #bits: number[] = [];

  /**
   * Adds a load unless another one covers it. There may be thousands, so most of them are ruled out
   * by the kinds they lack. Reads here are unchecked for speed. Invariant: each load has its bits.
   */
  add(load: NodeLoad): void {
    const bits = bitsOf(load.counts);
    const others = this.#bits;
    for (let index = 0; index < others.length; index += 1)
      if ((bits & ~(others[index] as number)) === 0 && this.#covers(index, load)) return;
    this.all.push(load);
    this.#bits.push(bits);
  }

  #covers(index: number, { counts }: NodeLoad): boolean {
    const mine = at(this.all, index).counts;
    return counts.every((count, kind) => int32At(mine, kind) >= count);
  }
}

/** Collects the fullest loads of one target. */
class Filling {
  readonly #context: PackContext;
  readonly #target: Target;
  readonly #order: readonly Kind[];
  readonly #fillings: FillingsLeft;
  readonly #found: (bin: PackBin) => void;

  constructor(
    context: PackContext,
    what: {
      readonly target: Target;
      readonly order: readonly Kind[];
      readonly fillings: FillingsLeft;
    },
    found: (bin: PackBin) => void,
  ) {
    this.#context = context;
    this.#target = what.target;
    this.#order = what.order;
    this.#fillings = what.fillings;
    this.#found = found;
  }

  /** Adds pods of this kind and those after it, as many as fit first. */
  from(place: number, bin: PackBin): void {
    const kind = this.#order[place];
    if (kind === undefined) {
      this.#fillings.left -= 1;
      if (!this.#order.some((other) => this.#room(bin, other) > 0)) this.#found(bin);
      return;
    }
    const least = place === 0 ? 1 : 0;
    for (let count = this.#room(bin, kind); count >= least; count -= 1) {
      if (this.#fillings.left <= 0) return;
      const next = count === 0 ? bin : copyOf(bin);
      if (count > 0) putKind(this.#context, next, kind, count);
      this.from(place + 1, next);
      // With fewer pods of the last kind, one more would fit.
      if (place === this.#order.length - 1) return;
    }
  }

  #room(bin: PackBin, kind: Kind): number {
    const left = kind.count - (bin.contents.get(kind.index) ?? 0);
    if (left <= 0) return 0;
    const times = Math.min(left, timesFitting(this.#target.room, bin.used, kind.requests));
    return times <= 0
      ? 0
      : Math.min(times, allowedIn(this.#context, bin, { kind, target: this.#target }));
  }
}

/**
 * Returns the fullest loads of nodes with at least one pod of the first of these kinds, each at its
 * least price; undefined if there are more ways to fill nodes than `fillings` allows. Every node
 * of these kinds holds a part of one of them.
 */
export function fullestLoads(
  context: PackContext,
  order: readonly Kind[],
  fillings: FillingsLeft,
): readonly NodeLoad[] | undefined {
  const first = at(order, 0);
  const targets = first.openings
    .flatMap((state): (readonly [State, Target])[] =>
      context.targets(state).map((target) => [state, target]),
    )
    .sort(([, a], [, b]) => a.price - b.price);
  const kept = new FullestLoads();
  for (const [state, target] of targets) {
    if (first.requests.some((amount, r) => amount > float64At(target.room, r))) continue;
    new Filling(context, { target, order, fillings }, (bin) => {
      const counts = new Int32Array(context.kinds.length);
      for (const [index, count] of bin.contents) counts[index] = count;
      // Targets come in order of price, so a new load is covered or none of the others is.
      kept.add({ opening: state, used: bin.used, counts, price: target.price });
    }).from(0, emptyBin(context, 0, state));
    if (fillings.left <= 0) return undefined;
    // The rest is dearer and holds no more than everything.
    if (kept.all.some(({ counts }) => order.every((kind) => counts[kind.index] === kind.count)))
      break;
  }
  return kept.all;
}
