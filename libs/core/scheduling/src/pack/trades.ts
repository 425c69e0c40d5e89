import { at, float64At } from '@dovetail/core-invariant';

import { copyOf, putKind, ruleRoom, settle } from './bins.js';
import { allowedIn } from './fill.js';
import type { Kind } from './kinds.js';
import type { PackBin, PackContext, Target } from './packing.js';
import { type Slot, type Slots, slotsOf } from './slots.js';

/**
 * The trades after which a node must have become cheaper. More trades make more nodes cheaper and
 * use up the free room of others, which then stay dear.
 */
const tradesMax = 6;
/**
 * The rounds over all nodes. In each, a node is tried if what it must give away is worth at most
 * this share of what it saves. Nodes that lack least come first, because later ones use up room
 * that they would need.
 */
const shares = [0.75, 0.9, 1.1, 1.1] as const;
/** Comparisons for each pod of the packing: about a millisecond for 1,000 pods. */
const visitsPerPod = 150;

/** Tolerance for rounding, so that a node with just enough free room is not passed over. */
const almost = 1 - 1e-9;

/** A pod that leaves for another node, and the pod that comes back for it, if one does. */
type Trade = { readonly other: number; readonly out: Kind; readonly back: Kind | undefined };

/** A node that may become cheaper, and the share of the saving that its surplus is worth. */
type Hopeful = { readonly place: number; readonly share: number };

/** Returns the amount by which the first vector is above the second in a resource, or 0. */
const above = (a: Float64Array, b: Float64Array, r: number): number =>
  Math.max(0, (a[r] as number) - (b[r] as number));

/** Returns the dearest target that is cheaper than a node; undefined if it is the cheapest. */
function nextCheaper({ state, price }: PackBin): Target | undefined {
  const { frontier } = state;
  let low = 0;
  let high = frontier.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at(frontier, middle).offering.priceMicrosPerHour >= price) high = middle;
    else low = middle + 1;
  }
  if (low === 0) return undefined;
  const { type, offering } = at(frontier, low - 1);
  return { room: type.room, price: offering.priceMicrosPerHour };
}

/**
 * Whether a node may take part. One that keeps its share of a hostname spread stays as it is. If a
 * node has host ports, room alone does not tell which types hold it.
 */
const mayTrade = ({ base, ports }: PackBin): boolean => base === undefined && ports.length === 0;

/**
 * Trades pods between nodes, so that nodes become cheaper. A node gives pods away, or gives larger
 * ones for smaller ones, until it fits a cheaper type. The others take them into their free room,
 * and stay as they are.
 */
class Trading {
  readonly #context: PackContext;
  readonly #bins: readonly PackBin[];
  readonly #slots: Slots;
  /** The free amounts of each node, side by side in memory. */
  readonly #free: Float64Array;
  /** The amounts that the node in hand must give away; negative where it has room. */
  readonly #excess: Float64Array;
  /** The worth of each node's free room when the round began. Trades use room up. */
  readonly #freeWorth: Float64Array;
  /** The nodes that may trade, those with most free room when the round began first. */
  #traders: readonly number[] = [];
  /** Trades for which no node has the room: a kind and a slot, or a kind and nothing back. */
  readonly #closed = new Set<number>();
  #visits: number;

  constructor(context: PackContext, bins: readonly PackBin[]) {
    this.#context = context;
    this.#bins = bins;
    this.#visits = visitsPerPod * bins.reduce((sum, { pods }) => sum + pods, 0);
    this.#slots = slotsOf(context);
    this.#free = new Float64Array(bins.length * context.perUnit.length);
    this.#excess = new Float64Array(context.perUnit.length);
    this.#freeWorth = new Float64Array(bins.length);
    for (const place of bins.keys()) this.#noteFree(place);
  }

  /** Puts the nodes in order for a round. */
  #order(): void {
    const bins = this.#bins;
    for (const [place, { room, used }] of bins.entries())
      this.#freeWorth[place] = this.#worthAbove(room, used);
    this.#traders = [...bins.keys()]
      .filter((place) => mayTrade(at(bins, place)))
      .sort((a, b) => float64At(this.#freeWorth, b) - float64At(this.#freeWorth, a));
    const slots = [...this.#slots.byShape.values()].flat();
    for (const { holders } of slots) holders.length = 0;
    for (const place of this.#traders)
      for (const index of at(bins, place).contents.keys()) this.#noteHolder(place, index);
    for (const slot of slots) slot.sorted = slot.holders.length;
  }

  #noteHolder(place: number, index: number): void {
    const slot = this.#slots.ofKind[index];
    slot?.holders.push({ place, kind: at(this.#context.kinds, index) });
  }

  run(): void {
    for (const shareMax of shares) {
      if (this.#visits <= 0) return;
      this.#closed.clear();
      this.#order();
      for (const { place } of this.#hopeful(shareMax)) this.#shrink(place);
    }
  }

  /** Returns the nodes that lack least for a cheaper type, compared with what they would save. */
  #hopeful(shareMax: number): readonly Hopeful[] {
    const found: Hopeful[] = [];
    for (const place of this.#traders) {
      const bin = at(this.#bins, place);
      const target = nextCheaper(bin);
      if (target === undefined) continue;
      const share = this.#worthAbove(bin.used, target.room) / (bin.price - target.price);
      if (share <= shareMax) found.push({ place, share });
    }
    return found.sort((a, b) => a.share - b.share);
  }

  /** Returns the worth of the amounts by which the first vector is above the second. */
  #worthAbove(a: Float64Array, b: Float64Array): number {
    const { perUnit } = this.#context;
    let worth = 0;
    for (let r = 0; r < a.length; r += 1) worth += (perUnit[r] as number) * above(a, b, r);
    return worth;
  }

  /** Makes a node cheaper as often as it can. */
  #shrink(place: number): void {
    const bin = at(this.#bins, place);
    let target = nextCheaper(bin);
    while (target !== undefined && this.#fitInto(place, target)) target = nextCheaper(bin);
  }

  /** Trades until a node fits a target. If it cannot, everything stays as it was. */
  #fitInto(place: number, target: Target): boolean {
    const bin = at(this.#bins, place);
    const { price } = bin;
    const done: Trade[] = [];
    while (!this.#fits(bin, target)) {
      const trade =
        done.length < tradesMax && this.#visits > 0 ? this.#bestTrade(place) : undefined;
      if (trade === undefined) {
        for (const one of done.reverse()) this.#perform(place, one, -1);
        return false;
      }
      this.#perform(place, trade, 1);
      done.push(trade);
    }
    this.#settle(place);
    for (const { other, out, back } of done) {
      this.#settle(other);
      this.#noteHolder(other, out.index);
      if (back !== undefined) this.#noteHolder(place, back.index);
    }
    return bin.price < price;
  }

  /** Prices a node anew. Invariant: it never becomes dearer. */
  #settle(place: number): void {
    settle(at(this.#bins, place));
    this.#noteFree(place);
  }

  /** Whether a node fits a target. Notes what it has too much of. */
  #fits({ used }: PackBin, { room }: Target): boolean {
    let fits = true;
    for (let r = 0; r < room.length; r += 1) {
      this.#excess[r] = (used[r] as number) - (room[r] as number);
      if ((this.#excess[r] as number) > 0) fits = false;
    }
    return fits;
  }

  #perform(place: number, { other, out, back }: Trade, sign: 1 | -1): void {
    const [bin, partner] = [at(this.#bins, place), at(this.#bins, other)];
    putKind(this.#context, bin, out, -sign);
    if (back !== undefined) putKind(this.#context, partner, back, -sign);
    putKind(this.#context, partner, out, sign);
    if (back !== undefined) putKind(this.#context, bin, back, sign);
    this.#noteFree(place);
    this.#noteFree(other);
  }

  #noteFree(place: number): void {
    const { room, used } = at(this.#bins, place);
    for (let r = 0; r < used.length; r += 1)
      this.#free[place * used.length + r] = (room[r] as number) - (used[r] as number);
  }

  /** Returns the trade that takes most of the excess away; of equal ones that of least worth. */
  #bestTrade(place: number): Trade | undefined {
    let best: Trade | undefined;
    let [most, least] = [0, 0];
    const consider = (out: Kind, slot: Slot | undefined): void => {
      this.#visits -= 1;
      const relief = this.#relief(out, slot);
      if (relief <= 0 || relief < most) return;
      const given = float64At(this.#context.worth, out.index) - (slot?.worth ?? 0);
      if (relief === most && given >= least) return;
      const found =
        slot === undefined ? this.#receiver(place, out) : this.#partner(place, out, slot);
      if (found !== undefined) [best, most, least] = [found, relief, given];
    };
    for (const index of at(this.#bins, place).contents.keys()) {
      const out = at(this.#context.kinds, index);
      consider(out, undefined);
      const own = this.#slots.ofKind[index];
      if (own === undefined) continue;
      for (const slot of this.#slots.byShape.get(out.shape.id) ?? [])
        if (slot !== own) consider(out, slot);
    }
    return best;
  }

  /** Returns the worth of the excess that a trade takes away, less that of what it adds. */
  #relief(out: Kind, back: Slot | undefined): number {
    const { perUnit } = this.#context;
    let relief = 0;
    for (let r = 0; r < perUnit.length; r += 1) {
      const excess = this.#excess[r] as number;
      const after = excess - (out.requests[r] as number) + amountOf(back, r);
      relief += (perUnit[r] as number) * (Math.max(0, excess) - Math.max(0, after));
    }
    return relief;
  }

  /** Returns a trade with a node that has room for one pod in place of another. */
  #partner(place: number, out: Kind, slot: Slot): Trade | undefined {
    const key = out.index * (this.#slots.ofKind.length + 1) + slot.index;
    if (this.#closed.has(key)) return undefined;
    const least = (float64At(this.#context.worth, out.index) - slot.worth) * almost;
    const { holders, sorted } = slot;
    for (let index = 0; index < holders.length; index += 1) {
      this.#visits -= 1;
      const { place: other, kind: back } = at(holders, index);
      if (float64At(this.#freeWorth, other) < least) {
        // The others up to `sorted` have no more free room than this one.
        index = Math.max(index, sorted - 1);
        continue;
      }
      if (
        other !== place &&
        this.#hasFree(other, out, slot) &&
        this.#swaps(place, other, out, back)
      )
        return { other, out, back };
    }
    this.#closed.add(key);
    return undefined;
  }

  /** Whether hostname rules allow two pods to change places; asked before either leaves. */
  #swaps(place: number, other: number, out: Kind, back: Kind): boolean {
    const partner = at(this.#bins, other);
    return (
      partner.contents.has(back.index) &&
      (out.rule === back.rule ||
        (ruleRoom(this.#context, partner, out) > 0 &&
          ruleRoom(this.#context, at(this.#bins, place), back) > 0))
    );
  }

  /** Returns a trade with a node that takes one more pod of a kind. */
  #receiver(place: number, out: Kind): Trade | undefined {
    if (this.#closed.has(-1 - out.index)) return undefined;
    const least = float64At(this.#context.worth, out.index) * almost;
    for (const other of this.#traders) {
      this.#visits -= 1;
      if (float64At(this.#freeWorth, other) < least) break;
      if (other === place || !this.#hasFree(other, out, undefined)) continue;
      const bin = at(this.#bins, other);
      if (allowedIn(this.#context, bin, { kind: out, target: bin }) > 0)
        return { other, out, back: undefined };
    }
    this.#closed.add(-1 - out.index);
    return undefined;
  }

  #hasFree(place: number, out: Kind, back: Slot | undefined): boolean {
    const { requests } = out;
    for (let r = 0; r < requests.length; r += 1) {
      const free = (this.#free[place * requests.length + r] as number) + amountOf(back, r);
      if (free < (requests[r] as number)) return false;
    }
    return true;
  }
}

const amountOf = (slot: Slot | undefined, r: number): number =>
  slot === undefined ? 0 : (slot.requests[r] as number);

/**
 * Whether rules decide how many nodes there are, for most of them. Only then is there free room
 * that no other number of nodes would use.
 */
function isForced(context: PackContext, bins: readonly PackBin[]): boolean {
  const limited = bins.filter(({ contents }) =>
    [...contents.keys()].some((index) => Number.isFinite(at(context.kinds, index).perHost)),
  );
  return limited.length * 2 > bins.length;
}

/**
 * Returns the nodes after trades that make some of them cheaper and none dearer. Nodes are left
 * alone unless hostname rules decide their number.
 */
export function withTrades(context: PackContext, bins: readonly PackBin[]): readonly PackBin[] {
  if (!isForced(context, bins)) return bins;
  const traded = bins.map(copyOf);
  new Trading(context, traded).run();
  return traded.filter(({ pods }) => pods > 0);
}
