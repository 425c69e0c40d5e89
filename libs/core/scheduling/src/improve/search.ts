import { at, float64At, int32At } from '@dovetail/core-invariant';

import type { State } from '../match/states.js';
import { emptyBin, putKind, settle } from '../pack/bins.js';
import { demandOf } from '../pack/context.js';
import { worthOf } from '../pack/fill.js';
import type { Portion } from '../pack/kinds.js';
import { type PackBin, type PackContext, type Target } from '../pack/packing.js';
import { dot } from '../pack/prices.js';
import { assemble, type Shell } from './assemble.js';
import { combinationsFor } from './combinations.js';
import { RandomNumbers } from './random-numbers.js';
import { type BinIds, Rebuild } from './rebuild.js';
import { UnpackedPods } from './unpacked-pods.js';

/**
 * The price of a bin beyond the worth of its contents. A larger waste makes it likelier that the
 * bin is dissolved.
 */
const waste = (context: PackContext, bin: PackBin): number => bin.price - worthOf(context, bin);

/**
 * Steps without a cheaper plan before a step may cost more. After as many again, the search returns
 * to the cheapest plan. A lower number leaves dead ends sooner; a higher one searches each
 * neighbourhood longer. No measurement of other values is recorded.
 */
const calmSteps = 300;
/** The calm steps that each node of the packing adds: larger packings have more neighbourhoods. */
const calmStepsPerNode = 8;
/**
 * The most that a step may cost more, per thousandth: up to 2 % of an average node in all. A higher
 * value leaves deeper dead ends and loses more of the plan. No measurement of other values is
 * recorded.
 */
const heat = 0.02 / 1000;

/**
 * Sets of types that a step looks at: few in most steps, to leave time for more steps, and many in
 * one step of eight. No measurement of other values is recorded.
 */
const quickVisits = 300;
const thoroughVisits = 3000;
const thoroughOneIn = 8;
/**
 * Combinations that a step finds, and those over which it tries to divide the pods. More of them
 * succeed more often and leave less time for other steps.
 */
const combinationsMax = 16;
const assembliesMax = 3;
/**
 * Nodes that a step dissolves at most: few in most steps, and more in one step of four. More nodes
 * save more when they combine, and do so less often. With 5 nodes, and 10 in one step of eight, six
 * plain worlds of 3,000 pods were 0.21 % above the bound after a second, and 0.20 % with these.
 */
const dissolvedMax = 6;
const dissolvedSeldom = 10;
const seldomOneIn = 4;
/** One step of so many dissolves a single node. Few of these save anything. */
const singleOneIn = 8;
/**
 * Up to so many dissolved nodes are always rebuilt one by one if no combination is cheaper; more
 * nodes in one step of `largeRebuildOneIn`. Of 3,800 rebuilds of two nodes, 184 concentrated free
 * room; of 4,100 of five, 9 did, and these took a fifth of all time.
 */
const rebuiltMax = 3;
const largeRebuildOneIn = 8;

/** Returns a node that holds only the pods that it must keep. */
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
 * Returns the least restricted opening state of some pods. A sized state comes first, because pods
 * of sized states would otherwise lose their sizes.
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

/** The result of a search: the bins, and the number of steps. */
export type Searched = { readonly bins: readonly PackBin[]; readonly steps: number };

/** When the search ends, and the seed of its random choices. */
export type SearchLimits = {
  readonly seed: number;
  readonly stepsMax: number;
  /** Steps that are made whatever `shouldStop` says. */
  readonly stepsMin: number;
  readonly shouldStop: () => boolean;
  /** Whether the search also ends where it would return to the cheapest packing. */
  readonly untilStale?: boolean;
};

/**
 * A large-neighbourhood search. It dissolves and rebuilds a few wasteful nodes, and keeps the
 * result if it is cheaper or concentrates the free room.
 */
class Search {
  readonly #context: PackContext;
  readonly #random: RandomNumbers;
  readonly #unpacked: UnpackedPods;
  #bins: PackBin[];
  readonly #ids: BinIds;
  readonly #rebuild: Rebuild;
  #price: number;
  /**
   * The cheapest packing so far. Invariant: its nodes cost `#bestPrice` together, and `#bestPrice`
   * <= `#price` unless a step just ended.
   */
  #best: readonly PackBin[];
  #bestPrice: number;
  /**
   * The pods that dissolved nodes must keep; empty if nodes may be opened and closed. Invariant:
   * one shell per dissolved node with a `base`, made anew in each step.
   */
  #shells: PackBin[] = [];
  /**
   * Steps since the cheapest packing was found or the search returned to it. Invariant: 0 <= stale
   * <= twice the calm steps.
   */
  #stale = 0;

  constructor(context: PackContext, bins: readonly PackBin[], seed: number) {
    this.#context = context;
    this.#random = new RandomNumbers(seed);
    this.#unpacked = new UnpackedPods(context.kinds.length);
    this.#bins = [...bins];
    this.#ids = { next: bins.reduce((most, bin) => Math.max(most, bin.id), -1) + 1 };
    this.#rebuild = new Rebuild(context, this.#random, this.#unpacked, this.#ids);
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

  /** Whether so many steps led nowhere that the search returns to the cheapest packing. */
  get isStale(): boolean {
    return this.#stale >= 2 * this.#calm;
  }

  get #calm(): number {
    return calmSteps + calmStepsPerNode * this.#bins.length;
  }

  step(): void {
    if (this.isStale) this.#return();
    else this.#stale += 1;
    const chosen = this.#choose();
    this.#unpacked.clear();
    this.#unpacked.add(this.#context, chosen);
    this.#shells = chosen.flatMap((bin) =>
      bin.base === undefined ? [] : [shellOf(this.#context, bin)],
    );
    const before = chosen.reduce((sum, bin) => sum + bin.price, 0);
    // After many steps without a cheaper packing, a step may cost a little more, so that the search
    // leaves dead ends.
    const budget =
      this.#stale > this.#calm
        ? before + (this.#price / this.#bins.length) * heat * this.#random.below(1000)
        : before;
    const rebuilt =
      this.#combine(budget > before ? budget : before - 1, chosen) ??
      (this.#isRebuilt(chosen) ? this.#rebuild.run(budget, chosen, this.#shells) : undefined);
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

  /** Whether dissolved nodes are rebuilt one by one. Those that keep pods have no other way. */
  #isRebuilt(chosen: readonly PackBin[]): boolean {
    return (
      chosen.length <= rebuiltMax ||
      this.#shells.length > 0 ||
      this.#random.below(largeRebuildOneIn) === 0
    );
  }

  /** Returns to the cheapest packing after steps that led nowhere. */
  #return(): void {
    this.#bins = [...this.#best];
    this.#price = this.#bestPrice;
    this.#stale = 0;
  }

  /**
   * Returns a measure of how far free room is concentrated in few nodes. Other pods can use such
   * room; the same room spread over many nodes is lost.
   */
  #concentration(bins: readonly PackBin[]): number {
    let sum = 0;
    for (const bin of bins) {
      const slack = dot(this.#context.perUnit, bin.room) - worthOf(this.#context, bin);
      sum += slack * slack;
    }
    return sum - bins.length;
  }

  /**
   * Chooses one of the most wasteful nodes of a sample and others that could exchange pods with it,
   * wasteful ones more often.
   */
  #choose(): readonly PackBin[] {
    const bins = this.#bins;
    let first = at(bins, this.#random.below(bins.length));
    for (let sample = 0; sample < 3; sample += 1) {
      const other = at(bins, this.#random.below(bins.length));
      if (waste(this.#context, other) > waste(this.#context, first)) first = other;
    }
    const chosen = new Set([first]);
    const wanted = this.#wanted();
    for (let tries = 0; chosen.size < wanted && tries < wanted * 4; tries += 1) {
      const [one, two] = [
        at(bins, this.#random.below(bins.length)),
        at(bins, this.#random.below(bins.length)),
      ];
      const other = waste(this.#context, two) > waste(this.#context, one) ? two : one;
      if (other.state === first.state || this.#random.below(8) === 0) chosen.add(other);
    }
    return [...chosen];
  }

  /** Returns what a node costs beyond the worth of its room. */
  #idle({ price, room }: PackBin): number {
    return price - dot(this.#context.duals, room);
  }

  /** Draws how many nodes a step dissolves. */
  #wanted(): number {
    const usual = this.#random.below(seldomOneIn) !== 0;
    const most = Math.min(usual ? dissolvedMax : dissolvedSeldom, this.#bins.length);
    return most < 2 || this.#random.below(singleOneIn) === 0 ? 1 : 2 + this.#random.below(most - 1);
  }

  /** Returns cheaper nodes for the unpacked pods, if the pods can be divided over them. */
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
    // Some nodes keep their types, because more than a few nodes have too many combinations. Those
    // whose types are the best value do.
    const given = [...old]
      .sort((a, b) => this.#idle(a) - this.#idle(b))
      .slice(0, Math.max(0, old.length - 2 - this.#random.below(3)));
    const counts =
      this.#shells.length > 0
        ? { countMin: old.length - given.length, countMax: old.length - given.length }
        : { countMin: 1, countMax: old.length - given.length + 3 };
    const visitsMax = this.#random.below(thoroughOneIn) === 0 ? thoroughVisits : quickVisits;
    const combinations = combinationsFor(this.#context.targets(state), {
      demand,
      given,
      perUnit: this.#context.duals,
      limits: { ...counts, priceMax, visitsMax, keptMax: combinationsMax },
    });
    for (let tries = 0; tries < Math.min(assembliesMax, combinations.length); tries += 1) {
      const { targets = [] } =
        combinations[tries === 0 ? 0 : this.#random.below(combinations.length)] ?? {};
      const bins = assemble(this.#context, this.#shellsFor(targets, state), portions, this.#random);
      if (bins !== undefined) return bins;
    }
    return undefined;
  }

  /**
   * Returns a node for each target. The heaviest shells get the dearest targets; without shells the
   * nodes are empty.
   */
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
 * Improves a packing step by step. It ends after `stepsMax` steps, when the price meets the bound,
 * when it is stale, if asked to, or, after `stepsMin` steps, when `shouldStop` says so.
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
    !(limits.untilStale === true && search.isStale) &&
    (steps < limits.stepsMin || !limits.shouldStop())
  ) {
    search.step();
    steps += 1;
  }
  for (const bin of search.bins) settle(bin);
  return { bins: search.bins, steps };
}
