import type { State } from '../match/states.js';
import { emptyBin, flexibleRoom, putKind, settle, type PackBin, type PackContext, type Size } from '../pack/bins.js';
import { filled, worthOf, type Supply, type Target } from '../pack/fill.js';
import { demandOf } from '../pack/context.js';
import type { Kind, Portion } from '../pack/kinds.js';
import { dot } from '../pack/prices.js';
import { assemble, type Shell } from './assemble.js';
import { combinationsFor } from './combinations.js';
import { Choices } from './random.js';

/** Money spent beyond what the contents are worth: the worse, the likelier a bin is dissolved. */
const waste = (context: PackContext, bin: PackBin): number => bin.price - worthOf(context, bin);

/** Steps without a cheaper plan after which steps may cost more, for as long again; then the search goes back. */
const calmSteps = 300;
/** How much more at most, as a share of an average node, for each of a thousand draws. */
const heat = 0.02 / 1000;

/** Sets of types that a step looks at: mostly few, so that there are more steps, and now and then many. */
const quickVisits = 300;
const thoroughVisits = 3000;
const thoroughOneIn = 8;

/** Pods that were taken out and have to go somewhere again. */
class Loose implements Supply {
  readonly left: Int32Array;
  sizes: Size[] = [];
  count = 0;

  constructor(kinds: number) {
    this.left = new Int32Array(kinds);
  }

  /** Takes over what bins hold beyond what they must keep. */
  add(context: PackContext, bins: readonly PackBin[]): void {
    for (const { contents, base } of bins) {
      for (const [index, all] of contents) {
        const count = all - (base?.get(index) ?? 0);
        if (count === 0) continue;
        if (this.left[index] === 0) this.sizes.push(context.sizes[index] as Size);
        this.left[index] = (this.left[index] as number) + count;
        this.count += count;
      }
    }
    this.sizes.sort((a, b) => b.worth - a.worth || (a.kinds[0] ?? 0) - (b.kinds[0] ?? 0));
  }

  take(bin: PackBin): void {
    for (const [index, count] of bin.contents) {
      const taken = count - (bin.base?.get(index) ?? 0);
      this.left[index] = (this.left[index] as number) - taken;
      this.count -= taken;
    }
    this.sizes = this.sizes.filter(({ kinds }) => (this.left[kinds[0] ?? 0] as number) > 0);
  }

  clear(): void {
    for (const { kinds } of this.sizes) this.left[kinds[0] ?? 0] = 0;
    this.sizes = [];
    this.count = 0;
  }
}

/** A node with nothing but what it must keep. */
function shellOf(context: PackContext, bin: PackBin): PackBin {
  const shell: PackBin = { ...emptyBin(context, bin.id, bin.opened ?? bin.state), base: bin.base ?? new Map() };
  for (const [index, count] of shell.base ?? []) putKind(context, shell, context.kinds[index] as Kind, count);
  return shell;
}

/** The least restricted of the states that nodes may be opened in for some of the pods; sized, if any of them is: the others would lose their sizes. */
function widestOpening(portions: readonly Portion[]): State {
  let widest: State | undefined;
  for (const { kind } of portions) {
    for (const state of kind.openings) {
      if (widest === undefined || (state.sized === widest.sized ? state.offers.length > widest.offers.length : state.sized)) widest = state;
    }
  }
  return widest as State;
}

/** What a search has done: the bins, and how many steps it took. */
export type Searched = { readonly bins: readonly PackBin[]; readonly steps: number };

export type SearchLimits = {
  readonly seed: number;
  readonly stepsMax: number;
  readonly shouldStop: () => boolean;
};

/** Large-neighbourhood search: a few wasteful nodes are dissolved and rebuilt, and kept if that is cheaper or tidier. */
class Search {
  readonly #context: PackContext;
  readonly #choices: Choices;
  readonly #loose: Loose;
  #bins: PackBin[];
  #nextId: number;
  #price: number;
  /** The cheapest so far, which is what counts in the end. */
  #best: readonly PackBin[];
  #bestPrice: number;
  /** What must stay of the nodes that were dissolved, for as many new ones; empty when nodes may come and go. */
  #shells: PackBin[] = [];
  /** Steps since the cheapest was found, or since the search went back to it. */
  #stale = 0;

  constructor(context: PackContext, bins: readonly PackBin[], seed: number) {
    this.#context = context;
    this.#choices = new Choices(seed);
    this.#loose = new Loose(context.kinds.length);
    this.#bins = [...bins];
    this.#nextId = bins.reduce((most, bin) => Math.max(most, bin.id), -1) + 1;
    this.#price = bins.reduce((sum, bin) => sum + bin.price, 0);
    this.#best = bins;
    this.#bestPrice = this.#price;
  }

  get bins(): readonly PackBin[] {
    return this.#best;
  }

  get price(): number {
    return this.#bestPrice;
  }

  step(): void {
    this.#stale += 1;
    const calm = calmSteps + 8 * this.#bins.length;
    if (this.#stale > 2 * calm) this.#return();
    const chosen = this.#choose();
    this.#loose.clear();
    this.#loose.add(this.#context, chosen);
    this.#shells = chosen.flatMap((bin) => (bin.base === undefined ? [] : [shellOf(this.#context, bin)]));
    const before = chosen.reduce((sum, bin) => sum + bin.price, 0);
    // Where nothing cheaper is found for long, a step may cost a little: that is how the search leaves a dead end.
    const budget = this.#stale > calm ? before + (this.#price / this.#bins.length) * heat * this.#choices.below(1000) : before;
    const rebuilt = this.#combine(budget > before ? budget : before - 1, chosen) ?? this.#rebuild(budget, chosen);
    if (rebuilt === undefined) return;
    const after = rebuilt.reduce((sum, bin) => sum + bin.price, 0);
    if (after > budget || (after === before && this.#concentration(rebuilt) <= this.#concentration(chosen))) return;
    const gone = new Set(chosen);
    this.#bins = [...this.#bins.filter((bin) => !gone.has(bin)), ...rebuilt];
    this.#price += after - before;
    if (this.#price > this.#bestPrice) return;
    if (this.#price === this.#bestPrice) {
      this.#best = this.#bins;
      return;
    }
    [this.#best, this.#bestPrice, this.#stale] = [this.#bins, this.#price, 0];
  }

  /** Back to the cheapest: what the search tried beyond it led nowhere. */
  #return(): void {
    this.#bins = [...this.#best];
    this.#price = this.#bestPrice;
    this.#stale = 0;
  }

  /** Slack in few nodes can be used by somebody; the same slack in many cannot. */
  #concentration(bins: readonly PackBin[]): number {
    let sum = 0;
    for (const bin of bins) {
      const slack = dot(this.#context.perUnit, bin.room) - worthOf(this.#context, bin);
      sum += slack * slack;
    }
    return sum - bins.length;
  }

  /** One of the most wasteful of a sample, and others, wasteful rather than not, that could exchange pods with it. */
  #choose(): readonly PackBin[] {
    const bins = this.#bins;
    let first = bins[this.#choices.below(bins.length)] as PackBin;
    for (let sample = 0; sample < 3; sample += 1) {
      const other = bins[this.#choices.below(bins.length)] as PackBin;
      if (waste(this.#context, other) > waste(this.#context, first)) first = other;
    }
    const chosen = new Set([first]);
    const wanted = 1 + this.#choices.below(Math.min(this.#choices.below(8) === 0 ? 10 : 5, bins.length));
    for (let tries = 0; chosen.size < wanted && tries < wanted * 4; tries += 1) {
      const [one, two] = [bins[this.#choices.below(bins.length)] as PackBin, bins[this.#choices.below(bins.length)] as PackBin];
      const other = waste(this.#context, two) > waste(this.#context, one) ? two : one;
      if (other.state === first.state || this.#choices.below(8) === 0) chosen.add(other);
    }
    return [...chosen];
  }

  /** Nodes of the types that hold what is loose for less, if the pods can be divided over them. */
  #combine(priceMax: number, old: readonly PackBin[]): readonly PackBin[] | undefined {
    const portions = this.#loose.sizes.map(({ kinds: [index = 0] }): Portion => ({ kind: this.#context.kinds[index] as Kind, count: this.#loose.left[index] as number }));
    const state = this.#shells[0]?.state ?? widestOpening(portions);
    const demand = demandOf(portions, this.#context.perUnit.length);
    for (const { used } of this.#shells) used.forEach((amount, r) => { demand[r] = (demand[r] as number) + amount; });
    // Beyond a few nodes there are too many combinations: some keep their types.
    const given = old.slice(0, Math.max(0, old.length - 2 - this.#choices.below(3)));
    const counts = this.#shells.length > 0 ? { countMin: old.length - given.length, countMax: old.length - given.length } : { countMin: 1, countMax: old.length - given.length + 3 };
    const visitsMax = this.#choices.below(thoroughOneIn) === 0 ? thoroughVisits : quickVisits;
    const combinations = combinationsFor(this.#context.targets(state), { demand, given, perUnit: this.#context.duals, limits: { ...counts, priceMax, visitsMax, keptMax: 16 } });
    for (let tries = 0; tries < Math.min(3, combinations.length); tries += 1) {
      const { targets = [] } = combinations[tries === 0 ? 0 : this.#choices.below(combinations.length)] ?? {};
      const bins = assemble(this.#context, this.#shellsFor(targets, state), portions, this.#choices);
      if (bins !== undefined) return bins;
    }
    return undefined;
  }

  /** A node for each target: what must stay of the old ones on the largest first, or empty ones. */
  #shellsFor(targets: readonly Target[], state: State): readonly Shell[] {
    const byRoom = this.#shells.length === 0 ? targets : [...targets].sort((a, b) => b.price - a.price);
    const heavy = [...this.#shells].sort((a, b) => worthOf(this.#context, b) - worthOf(this.#context, a));
    const shells = byRoom.map((target, index) => ({ bin: heavy[index] ?? emptyBin(this.#context, this.#nextId + index, state), target }));
    this.#nextId += shells.length;
    return shells;
  }

  #rebuild(budget: number, old: readonly PackBin[]): readonly PackBin[] | undefined {
    const rebuilt: PackBin[] = [];
    let spent = 0;
    const shells = [...this.#shells];
    // Mostly nodes like those that were there, better filled: other types at random seldom come out at the same price.
    const again = this.#choices.below(4) === 0 ? [] : [...old];
    while (this.#loose.count > 0) {
      if (rebuilt.length > old.length + 3) return undefined;
      const bin = this.#next(budget - spent, again, shells);
      if (bin === undefined) return undefined;
      spent += bin.price;
      if (spent > budget) return undefined;
      this.#loose.take(bin);
      rebuilt.push(bin);
    }
    return shells.every((bin) => settle(bin)) ? [...rebuilt, ...shells] : undefined;
  }

  /** The next node: the cheapest that takes everything, if one can; else one of the better targets, at random. */
  #next(budget: number, again: PackBin[], shells: PackBin[]): PackBin | undefined {
    const index = this.#loose.sizes[0]?.kinds[0] ?? 0;
    const seed = this.#context.kinds[index] as Kind;
    const start = this.#opened(seed, shells);
    if (start === undefined) return undefined;
    putKind(this.#context, start, seed, 1);
    this.#loose.left[index] = (this.#loose.left[index] as number) - 1;
    const whole = this.#coverAll(start);
    const bin = whole ?? (again.length > 0 ? this.#sameTarget(start, again) : this.#randomTarget(start, budget));
    this.#loose.left[index] += 1;
    return bin;
  }

  /** A node for a pod: one of the shells that takes it, which is used up by that, or an empty one where nodes may come and go. */
  #opened(seed: Kind, shells: PackBin[]): PackBin | undefined {
    if (this.#shells.length > 0) {
      const at = shells.findIndex((shell) => flexibleRoom(this.#context, shell, seed) > 0);
      return at < 0 ? undefined : shells.splice(at, 1)[0];
    }
    this.#nextId += 1;
    return emptyBin(this.#context, this.#nextId, seed.openings[this.#choices.below(seed.openings.length)] as State);
  }

  #coverAll(start: PackBin): PackBin | undefined {
    const demand = Float64Array.from(start.used);
    for (const { kinds: [index = 0] } of this.#loose.sizes) {
      const kind = this.#context.kinds[index] as Kind;
      for (let r = 0; r < demand.length; r += 1) demand[r] = (demand[r] as number) + (kind.requests[r] as number) * (this.#loose.left[index] as number);
    }
    const offer = start.state.frontier.find(({ type }) => type.room.every((amount, r) => amount >= (demand[r] as number)));
    if (offer === undefined) return undefined;
    const bin = filled(this.#context, start, { target: { room: offer.type.room, price: offer.offering.priceMicrosPerHour }, supply: this.#loose, swapsMax: 0 });
    return bin !== undefined && bin.pods === this.#loose.count + (start.pods - 1) ? bin : undefined;
  }

  /** A node like one of those that were dissolved, each used once: what comes out costs no more, and may need less. */
  #sameTarget(start: PackBin, again: PackBin[]): PackBin | undefined {
    const [model] = again.splice(this.#choices.below(again.length), 1) as [PackBin];
    if (!start.used.every((amount, r) => amount <= (model.room[r] ?? 0))) return undefined;
    return filled(this.#context, start, { target: model, supply: this.#loose, swapsMax: 6, evenly: this.#choices.below(2) === 0 });
  }

  #randomTarget(start: PackBin, budget: number): PackBin | undefined {
    const { frontier } = start.state;
    const tries = Math.min(12, frontier.length);
    let best: { readonly target: Target; readonly ratio: number } | undefined;
    // A tournament: large targets of good value win mostly, not always.
    for (let round = 0, rounds = 1 + this.#choices.below(3); round < tries && round < rounds; round += 1) {
      const offer = frontier[this.#choices.below(frontier.length)];
      if (offer === undefined || offer.offering.priceMicrosPerHour > budget) continue;
      if (!start.used.every((amount, r) => amount <= (offer.type.room[r] ?? 0))) continue;
      const ratio = dot(this.#context.perUnit, offer.type.room) / Math.max(1, offer.offering.priceMicrosPerHour);
      if (best === undefined || ratio > best.ratio) best = { target: { room: offer.type.room, price: offer.offering.priceMicrosPerHour }, ratio };
    }
    return best === undefined ? undefined : filled(this.#context, start, { target: best.target, supply: this.#loose, swapsMax: 6, evenly: this.#choices.below(2) === 0 });
  }
}

/** Improves a packing in counted steps, until the steps or the caller end it, or the bound is met and nothing can cost less. */
export function improve(context: PackContext, bins: readonly PackBin[], limits: SearchLimits): Searched {
  const search = new Search(context, bins, limits.seed);
  let steps = 0;
  while (steps < limits.stepsMax && bins.length > 0 && search.price > context.bound && !limits.shouldStop()) {
    search.step();
    steps += 1;
  }
  for (const bin of search.bins) settle(bin);
  return { bins: search.bins, steps };
}
