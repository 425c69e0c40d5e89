import { at, float64At, int32At } from '@dovetail/core-invariant';

import type { State } from '../match/states.js';
import { emptyBin, putKind, settle } from '../pack/bins.js';
import { demandOf } from '../pack/context.js';
import { worthOf } from '../pack/fill.js';
import type { Portion } from '../pack/kinds.js';
import { type PackBin, type PackContext, type Target } from '../pack/packing.js';
import { dot } from '../pack/prices.js';
import { assemble, type Shell } from './assemble.js';
import { Choices } from './choices.js';
import { combinationsFor } from './combinations.js';
import { type BinIds, Rebuild } from './rebuild.js';
import { UnpackedPods } from './unpacked-pods.js';

/** Money spent beyond what the contents are worth: the worse, the likelier a bin is dissolved. */
const waste = (context: PackContext, bin: PackBin): number => bin.price - worthOf(context, bin);

/**
 * Steps without a cheaper plan after which a step may cost more, for as long again; then the search
 * goes back to the cheapest plan. Fewer leave dead ends sooner, more search each neighbourhood
 * longer. No other values are recorded.
 */
const calmSteps = 300;
/**
 * How much more a step may cost: up to 2 % of an average node, drawn in thousandths. More leaves
 * deeper dead ends, and loses more of what was found. No other values are recorded.
 */
const heat = 0.02 / 1000;

/**
 * How many sets of types a step looks at: few as a rule, which leaves time for more steps, and many
 * in one step of eight. The search found cheaper plans in equal time with this mix than with many
 * sets in each step (git log).
 */
const quickVisits = 300;
const thoroughVisits = 3000;
const thoroughOneIn = 8;

/** A node with nothing but what it must keep. */
function shellOf(context: PackContext, bin: PackBin): PackBin {
  const shell: PackBin = {
    ...emptyBin(context, bin.id, bin.opened ?? bin.state),
    base: bin.base ?? new Map(),
  };
  for (const [index, count] of shell.base ?? [])
    putKind(context, shell, at(context.kinds, index), count);
  return shell;
}

/**
 * The least restricted of the states that nodes may be opened in for some of the pods; sized, if
 * any of them is: the others would lose their sizes.
 */
function widestOpening(portions: readonly Portion[]): State {
  let widest: State | undefined;
  for (const { kind } of portions) {
    for (const state of kind.openings) {
      if (
        widest === undefined ||
        (state.sized === widest.sized ? state.offers.length > widest.offers.length : state.sized)
      )
        widest = state;
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

/**
 * Large-neighbourhood search: a few wasteful nodes are dissolved and rebuilt, and kept if that is
 * cheaper or tidier.
 */
class Search {
  readonly #context: PackContext;
  readonly #choices: Choices;
  readonly #unpacked: UnpackedPods;
  #bins: PackBin[];
  readonly #ids: BinIds;
  readonly #rebuild: Rebuild;
  #price: number;
  /**
   * The cheapest so far. Invariant: its nodes cost `#bestPrice` together, and `#bestPrice` <=
   * `#price` unless a step just ended.
   */
  #best: readonly PackBin[];
  #bestPrice: number;
  /**
   * What must stay of the nodes that were dissolved; empty when nodes may come and go.
   * Invariant: as many as there are dissolved nodes with a `base`, and made anew in each step.
   */
  #shells: PackBin[] = [];
  /**
   * Steps since the cheapest was found, or since the search went back to it.
   * Invariant: 0 <= stale <= twice the calm steps.
   */
  #stale = 0;

  constructor(context: PackContext, bins: readonly PackBin[], seed: number) {
    this.#context = context;
    this.#choices = new Choices(seed);
    this.#unpacked = new UnpackedPods(context.kinds.length);
    this.#bins = [...bins];
    this.#ids = { next: bins.reduce((most, bin) => Math.max(most, bin.id), -1) + 1 };
    this.#rebuild = new Rebuild(context, this.#choices, this.#unpacked, this.#ids);
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
    this.#unpacked.clear();
    this.#unpacked.add(this.#context, chosen);
    this.#shells = chosen.flatMap((bin) =>
      bin.base === undefined ? [] : [shellOf(this.#context, bin)],
    );
    const before = chosen.reduce((sum, bin) => sum + bin.price, 0);
    // Where nothing cheaper is found for long, a step may cost a little: that is how the search
    // leaves a dead end.
    const budget =
      this.#stale > calm
        ? before + (this.#price / this.#bins.length) * heat * this.#choices.below(1000)
        : before;
    const rebuilt =
      this.#combine(budget > before ? budget : before - 1, chosen) ??
      this.#rebuild.run(budget, chosen, this.#shells);
    if (rebuilt === undefined) return;
    const after = rebuilt.reduce((sum, bin) => sum + bin.price, 0);
    if (
      after > budget ||
      (after === before && this.#concentration(rebuilt) <= this.#concentration(chosen))
    )
      return;
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

  /**
   * One of the most wasteful of a sample, and others, wasteful rather than not, that could exchange
   * pods with it.
   */
  #choose(): readonly PackBin[] {
    const bins = this.#bins;
    let first = at(bins, this.#choices.below(bins.length));
    for (let sample = 0; sample < 3; sample += 1) {
      const other = at(bins, this.#choices.below(bins.length));
      if (waste(this.#context, other) > waste(this.#context, first)) first = other;
    }
    const chosen = new Set([first]);
    const wanted =
      1 + this.#choices.below(Math.min(this.#choices.below(8) === 0 ? 10 : 5, bins.length));
    for (let tries = 0; chosen.size < wanted && tries < wanted * 4; tries += 1) {
      const [one, two] = [
        at(bins, this.#choices.below(bins.length)),
        at(bins, this.#choices.below(bins.length)),
      ];
      const other = waste(this.#context, two) > waste(this.#context, one) ? two : one;
      if (other.state === first.state || this.#choices.below(8) === 0) chosen.add(other);
    }
    return [...chosen];
  }

  /** Nodes of the types that hold what is loose for less, if the pods can be divided over them. */
  #combine(priceMax: number, old: readonly PackBin[]): readonly PackBin[] | undefined {
    const portions = this.#unpacked.sizes.map(({ kinds: [index = 0] }): Portion => ({
      kind: at(this.#context.kinds, index),
      count: int32At(this.#unpacked.left, index),
    }));
    const state = this.#shells[0]?.state ?? widestOpening(portions);
    const demand = demandOf(portions, this.#context.perUnit.length);
    for (const { used } of this.#shells)
      used.forEach((amount, r) => {
        demand[r] = float64At(demand, r) + amount;
      });
    // Beyond a few nodes there are too many combinations: some keep their types.
    const given = old.slice(0, Math.max(0, old.length - 2 - this.#choices.below(3)));
    const counts =
      this.#shells.length > 0
        ? { countMin: old.length - given.length, countMax: old.length - given.length }
        : { countMin: 1, countMax: old.length - given.length + 3 };
    const visitsMax = this.#choices.below(thoroughOneIn) === 0 ? thoroughVisits : quickVisits;
    const combinations = combinationsFor(this.#context.targets(state), {
      demand,
      given,
      perUnit: this.#context.duals,
      limits: { ...counts, priceMax, visitsMax, keptMax: 16 },
    });
    for (let tries = 0; tries < Math.min(3, combinations.length); tries += 1) {
      const { targets = [] } =
        combinations[tries === 0 ? 0 : this.#choices.below(combinations.length)] ?? {};
      const bins = assemble(
        this.#context,
        this.#shellsFor(targets, state),
        portions,
        this.#choices,
      );
      if (bins !== undefined) return bins;
    }
    return undefined;
  }

  /** A node for each target: what must stay of the old ones on the largest first, or empty ones. */
  #shellsFor(targets: readonly Target[], state: State): readonly Shell[] {
    const byRoom =
      this.#shells.length === 0 ? targets : [...targets].sort((a, b) => b.price - a.price);
    const heavy = [...this.#shells].sort(
      (a, b) => worthOf(this.#context, b) - worthOf(this.#context, a),
    );
    const shells = byRoom.map((target, index) => ({
      bin: heavy[index] ?? emptyBin(this.#context, this.#ids.next + index, state),
      target,
    }));
    this.#ids.next += shells.length;
    return shells;
  }
}

/**
 * Improves a packing in counted steps, until the steps or the caller end it, or the bound is met
 * and nothing can cost less.
 */
export function improve(
  context: PackContext,
  bins: readonly PackBin[],
  limits: SearchLimits,
): Searched {
  const search = new Search(context, bins, limits.seed);
  let steps = 0;
  while (
    steps < limits.stepsMax &&
    bins.length > 0 &&
    search.price > context.bound &&
    !limits.shouldStop()
  ) {
    search.step();
    steps += 1;
  }
  for (const bin of search.bins) settle(bin);
  return { bins: search.bins, steps };
}
