import { at, float64At, int32At, numberAt } from '@dovetail/core-invariant';

import { emptyBin, flexibleRoom, putKind, settle } from '../pack/bins.js';
import { filled } from '../pack/fill.js';
import type { Kind } from '../pack/kinds.js';
import type { PackBin, PackContext, Target } from '../pack/packing.js';
import { dot } from '../pack/prices.js';
import type { RandomNumbers } from './random-numbers.js';
import type { UnpackedPods } from './unpacked-pods.js';

/** Nodes that a rebuilt set may have beyond the old one. More of them rarely cost no more. */
const addedMax = 3;
/** Rounds of the tournament between random targets. More rounds choose good value more often. */
const roundsMax = 3;
/** Exchanges that top off a rebuilt node. More of them raise its worth and take more time. */
const swapsMax = 6;

/** The number of the next node that the search opens. All parts of the search share it. */
export type BinIds = { next: number };

/** The shells of dissolved nodes. If `fixed`, only they may be filled and no node may be opened. */
type Places = { readonly shells: PackBin[]; readonly fixed: boolean };

/** Rebuilds dissolved nodes one by one and fills each greedily. */
export class Rebuild {
  readonly #context: PackContext;
  readonly #random: RandomNumbers;
  readonly #unpacked: UnpackedPods;
  readonly #ids: BinIds;

  constructor(context: PackContext, random: RandomNumbers, unpacked: UnpackedPods, ids: BinIds) {
    this.#context = context;
    this.#random = random;
    this.#unpacked = unpacked;
    this.#ids = ids;
  }

  /**
   * Returns nodes for all unpacked pods at a price of at most `budget`; undefined if it finds none.
   */
  run(
    budget: number,
    old: readonly PackBin[],
    kept: readonly PackBin[],
  ): readonly PackBin[] | undefined {
    const rebuilt: PackBin[] = [];
    let spent = 0;
    const shells = [...kept];
    // Three times out of four, the new nodes have the types of the old ones. Random types seldom
    // have the same price.
    const again = this.#random.below(4) === 0 ? [] : [...old];
    while (this.#unpacked.count > 0) {
      if (rebuilt.length > old.length + addedMax) return undefined;
      const bin = this.#next(budget - spent, again, { shells, fixed: kept.length > 0 });
      if (bin === undefined) return undefined;
      spent += bin.price;
      if (spent > budget) return undefined;
      this.#unpacked.take(bin);
      rebuilt.push(bin);
    }
    return shells.every((bin) => settle(bin)) ? [...rebuilt, ...shells] : undefined;
  }

  /**
   * Returns the next node: the cheapest that takes every pod if one can, otherwise one of the
   * better targets at random.
   */
  #next(budget: number, again: PackBin[], places: Places): PackBin | undefined {
    const index = numberAt(at(this.#unpacked.sizes, 0).kinds, 0);
    const seed = at(this.#context.kinds, index);
    const start = this.#opened(seed, places);
    if (start === undefined) return undefined;
    putKind(this.#context, start, seed, 1);
    this.#unpacked.left[index] = int32At(this.#unpacked.left, index) - 1;
    const whole = this.#coverAll(start);
    const bin =
      whole ??
      (again.length > 0 ? this.#sameTarget(start, again) : this.#randomTarget(start, budget));
    this.#unpacked.left[index] += 1;
    return bin;
  }

  /**
   * Returns a node for a pod: an unused shell that takes it, or an empty node if nodes may be
   * opened.
   */
  #opened(seed: Kind, { shells, fixed }: Places): PackBin | undefined {
    if (fixed) {
      const at = shells.findIndex((shell) => flexibleRoom(this.#context, shell, seed) > 0);
      return at < 0 ? undefined : shells.splice(at, 1)[0];
    }
    const id = this.#ids.next;
    this.#ids.next += 1;
    return emptyBin(this.#context, id, at(seed.openings, this.#random.below(seed.openings.length)));
  }

  #coverAll(start: PackBin): PackBin | undefined {
    const demand = Float64Array.from(start.used);
    for (const { kinds } of this.#unpacked.sizes) {
      const index = numberAt(kinds, 0);
      const kind = at(this.#context.kinds, index);
      for (let r = 0; r < demand.length; r += 1)
        demand[r] =
          float64At(demand, r) + float64At(kind.requests, r) * int32At(this.#unpacked.left, index);
    }
    const offer = start.state.frontier.find(({ type }) =>
      type.room.every((amount, r) => amount >= float64At(demand, r)),
    );
    if (offer === undefined) return undefined;
    const bin = filled(this.#context, start, {
      target: { room: offer.type.room, price: offer.offering.priceMicrosPerHour },
      supply: this.#unpacked,
      swapsMax: 0,
    });
    return bin !== undefined && bin.pods === this.#unpacked.count + (start.pods - 1)
      ? bin
      : undefined;
  }

  /**
   * Returns a node of the type of a dissolved one, each of which is used once. Its price is
   * therefore no higher.
   */
  #sameTarget(start: PackBin, again: PackBin[]): PackBin | undefined {
    const [model] = again.splice(this.#random.below(again.length), 1) as [PackBin];
    if (!start.used.every((amount, r) => amount <= float64At(model.room, r))) return undefined;
    return filled(this.#context, start, {
      target: model,
      supply: this.#unpacked,
      swapsMax,
      evenly: this.#random.below(2) === 0,
    });
  }

  #randomTarget(start: PackBin, budget: number): PackBin | undefined {
    const { frontier } = start.state;
    const tries = Math.min(roundsMax, frontier.length);
    let best: { readonly target: Target; readonly ratio: number } | undefined;
    // A tournament of random targets: those of better value win more often.
    for (
      let round = 0, rounds = 1 + this.#random.below(roundsMax);
      round < tries && round < rounds;
      round += 1
    ) {
      const offer = frontier[this.#random.below(frontier.length)];
      if (offer === undefined || offer.offering.priceMicrosPerHour > budget) continue;
      if (!start.used.every((amount, r) => amount <= float64At(offer.type.room, r))) continue;
      const ratio =
        dot(this.#context.perUnit, offer.type.room) /
        Math.max(1, offer.offering.priceMicrosPerHour);
      if (best === undefined || ratio > best.ratio)
        best = {
          target: { room: offer.type.room, price: offer.offering.priceMicrosPerHour },
          ratio,
        };
    }
    return best === undefined
      ? undefined
      : filled(this.#context, start, {
          target: best.target,
          supply: this.#unpacked,
          swapsMax,
          evenly: this.#random.below(2) === 0,
        });
  }
}
