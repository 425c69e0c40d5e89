import { float64At } from '@dovetail/core-invariant';

import type { Kind } from './kinds.js';

/** What nodes of a type can really be filled with. */
export type Usable = {
  /** Of each resource, the most that pods to be packed could use at once on such a node. */
  readonly room: Float64Array;
  /** Too few of the pods fit such a node for it to matter to what resources cost. */
  readonly niche: boolean;
};

/** The resources that pods trade against each other: cpu and memory, which lead every vector. */
const traded = [0, 1] as const;
/**
 * How much of a resource's whole demand the pods make up that a type is judged by: the few most
 * extreme could fill few nodes only.
 */
const extremeShare = 0.1;
/** Types that hold less than this share of the demand are niche. */
const nicheShare = 0.05;

/**
 * A node's room is worth what pods can make of it. Half a gibibyte beside two cores looks like
 * cheap cores to whoever adds up resources, but pods that would use two cores in so little memory
 * are rare: such a node is bought for few pods and its cores stay idle. So each type is judged by
 * the pods that suit it best among those that fit it.
 */
export class UsableRooms {
  readonly #kinds: readonly Kind[];
  /** Kinds with most of a traded resource for what they ask of the other first, by resource. */
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
   * What the pods request together that fit a room and are most extreme in a resource, up to so
   * much of it.
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
