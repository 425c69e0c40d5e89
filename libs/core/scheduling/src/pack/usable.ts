import { float64At } from '@dovetail/core-invariant';

import type { Kind } from './kinds.js';

/** The part of a type's room that pods can fill. */
export type Usable = {
  /** Per resource, the most that the pods could use on such a node at once. */
  readonly room: Float64Array;
  /** Whether too few pods fit such a node for it to influence the prices of resources. */
  readonly niche: boolean;
};

/** The resources that pods trade against each other: cpu and memory, which lead every vector. */
export const traded = [0, 1] as const;
/**
 * The share of a resource's demand whose most extreme pods judge a type. A smaller share would
 * judge types by pods that fill only few nodes.
 */
const extremeShare = 0.1;
/**
 * Types that hold less than this share of the demand are niche. A larger share ignores more types
 * in the prices.
 */
const nicheShare = 0.05;

/**
 * Computes the part of a node's room that pods can use. A type with two cores and half a gibibyte
 * looks cheap per core. Pods with so much cpu for so little memory are rare, so its cores would
 * stay idle. Each type is therefore judged by the fitting pods that suit it best.
 */
export class UsableRooms {
  readonly #kinds: readonly Kind[];
  /** Kinds by traded resource: those with the largest ratio of that resource to the other first. */
  readonly #extremeFirst: readonly (readonly Kind[])[];
  readonly #demand: Float64Array;
  readonly #known = new Map<Float64Array, Usable>();

  constructor(kinds: readonly Kind[], demand: Float64Array) {
    this.#kinds = kinds;
    this.#demand = demand;
    const ratio = (kind: Kind): number =>
      float64At(kind.requests, 0) / Math.max(1, float64At(kind.requests, 1));
    const byCpu = [...kinds].sort((a, b) => ratio(b) - ratio(a) || a.index - b.index);
    this.#extremeFirst = [byCpu, [...byCpu].reverse()];
  }

  of(room: Float64Array): Usable {
    const known = this.#known.get(room) ?? this.#measured(room);
    this.#known.set(room, known);
    return known;
  }

  #measured(room: Float64Array): Usable {
    const usable = Float64Array.from(room);
    let niche = this.#kinds.length > 0;
    for (const r of traded) {
      const total = this.#demand[r] as number;
      const mix = this.#mixOf(room, r, total * extremeShare);
      let times = Infinity;
      for (let q = 0; q < mix.length; q += 1)
        if (float64At(mix, q) > 0) times = Math.min(times, float64At(room, q) / float64At(mix, q));
      usable[r] = Number.isFinite(times)
        ? Math.min(room[r] as number, times * (mix[r] as number))
        : 0;
      if ((mix[r] as number) >= total * nicheShare && total > 0) niche = false;
    }
    return { room: usable, niche };
  }

  /**
   * Sums the requests of the pods that fit a room, those with most of a resource first, until they
   * reach `enough` of it.
   */
  #mixOf(room: Float64Array, resource: number, enough: number): Float64Array {
    const mix = new Float64Array(room.length);
    for (const { requests, count } of this.#extremeFirst[resource] ?? []) {
      if (!requests.every((amount, q) => amount <= float64At(room, q))) continue;
      for (let q = 0; q < mix.length; q += 1)
        mix[q] = float64At(mix, q) + float64At(requests, q) * count;
      if (float64At(mix, resource) >= enough) break;
    }
    return mix;
  }
}
