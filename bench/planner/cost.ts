import type { LpSolver } from '@dovetail/core-ports';

import { generatedWorld } from '../worlds/generated.js';
import { type BenchWorld } from '../worlds/objects.js';
import { boundFor, digestOf, firstPlan, msOf, prove, timedPlan } from './measure.js';
import { planWithPeer } from './peer.js';

/** Worlds of one size, and the budgets at which their plans are measured. */
export type CostCase = {
  readonly name: string;
  readonly rules: 'plain' | 'spread';
  readonly pods: number;
  readonly budgetsMs: readonly number[];
  /** Targets by budget, in percent over the bound: mean and worst. */
  readonly targets: Readonly<Record<number, { readonly mean: number; readonly worst?: number }>>;
};

type Spread = { readonly mean: number; readonly worst: number };

/** One row of the table of costs. Gaps are in percent over the best bound. */
export type CostRow = {
  readonly kind: 'cost';
  readonly name: string;
  readonly worlds: number;
  readonly firstMs: number;
  readonly first: Spread;
  readonly budgets: readonly {
    readonly budgetMs: number;
    readonly gap: Spread;
    readonly cost: number;
    readonly met: boolean;
  }[];
  readonly bound: number;
  readonly bounds: readonly string[];
  readonly karpenter?: Spread & { readonly cost: number; readonly ms: number };
  /** How much more Karpenter pays than the last budget's plans, in percent: mean and least. */
  readonly below?: { readonly mean: number; readonly least: number };
  /**
   * The same when the emptiest node counts as 0, as with Karpenter: cost over that mode's bound,
   * and the saving over Karpenter's.
   */
  readonly strict?: Spread & { readonly cost: number; readonly below?: number };
  readonly digest: string;
};

const plainTargets = { 200: { mean: 1.5, worst: 4 }, 1000: { mean: 0.5, worst: 1.5 } };

/** All cases, smallest first. */
export function costCases(quick: boolean): readonly CostCase[] {
  const small = ([200, 1_000, 3_000] as const).map((pods): CostCase => ({
    name: `plain ${pods}`,
    rules: 'plain',
    pods,
    budgetsMs: [200, 1_000],
    targets: plainTargets,
  }));
  const spread = ([200, 1_000, 3_000] as const).map((pods): CostCase => ({
    name: `spread ${pods}`,
    rules: 'spread',
    pods,
    budgetsMs: [1_000],
    targets: { 1000: { mean: 3 } },
  }));
  if (quick) return [...small.slice(0, 2), ...spread.slice(0, 1)];
  return [
    ...small,
    ...spread,
    {
      name: 'plain 10000',
      rules: 'plain',
      pods: 10_000,
      budgetsMs: [5_000],
      targets: { 5000: { mean: 0.3 } },
    },
    {
      name: 'plain 100000',
      rules: 'plain',
      pods: 100_000,
      budgetsMs: [30_000],
      targets: { 30000: { mean: 1 } },
    },
  ];
}

const sizes = [Infinity, 32, 16] as const;

/**
 * `count` worlds over the sizes in turn. Karpenter plans only the smaller ones, because the largest
 * would take it hours.
 */
function worldsOf(one: CostCase, count: number): readonly BenchWorld[] {
  return Array.from({ length: count }, (_, index) =>
    generatedWorld({
      pods: one.pods,
      seed: 1 + Math.floor(index / 3),
      vcpusMax: sizes[index % 3] ?? Infinity,
      rules: one.rules,
    }),
  );
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
const spreadOf = (values: readonly number[]): Spread => ({
  mean: mean(values),
  worst: Math.max(...values),
});
const dollars = (micros: readonly number[]): number =>
  micros.reduce((sum, value) => sum + value, 0) / 1e6;
const over = (price: number, bound: number): number => (bound > 0 ? (price / bound - 1) * 100 : 0);

type Measured = {
  readonly bound: number;
  readonly kind: string;
  readonly first: number;
  readonly firstMs: number;
  readonly prices: readonly number[];
  readonly karpenter?: { readonly price: number; readonly ms: number };
  readonly strict?: { readonly gap: number; readonly price: number };
  readonly digest: string;
};

type What = {
  readonly worlds: number;
  readonly peer: boolean;
  readonly lp: LpSolver;
  readonly tell: (text: string) => void;
};

async function strictly(
  world: BenchWorld,
  one: CostCase,
  lp: LpSolver,
): Promise<{ readonly gap: number; readonly price: number }> {
  const mode = { hostnameSpread: 'strict' } as const;
  const made = timedPlan(world, one.budgetsMs.at(-1) ?? 0, mode).plan;
  prove(world, made, mode);
  return {
    gap: over(made.priceMicrosPerHour, (await boundFor(world, lp, mode)).priceMicrosPerHour),
    price: made.priceMicrosPerHour,
  };
}

async function measured(world: BenchWorld, one: CostCase, what: What): Promise<Measured> {
  what.tell(`${world.name}\n`);
  const first = firstPlan(world, one.pods > 10_000 ? 1 : 3);
  prove(world, first.plan);
  // Compiles the improving code first, as in a service that has been planning.
  timedPlan(world, one.budgetsMs[0] ?? 0);
  const plans = one.budgetsMs.map((budget) => timedPlan(world, budget).plan);
  for (const made of plans) prove(world, made);
  const bound = await boundFor(world, what.lp);
  const beaten = plans.find((made) => made.priceMicrosPerHour < bound.priceMicrosPerHour);
  if (beaten !== undefined)
    throw new Error(
      `${world.name}: a plan of ${beaten.priceMicrosPerHour} beats the bound ${bound.kind} of ${bound.priceMicrosPerHour}`,
    );
  const peer = what.peer && one.pods <= 3_000 ? await planWithPeer(world) : undefined;
  return {
    bound: bound.priceMicrosPerHour,
    kind: bound.kind,
    first: first.plan.priceMicrosPerHour,
    firstMs: msOf(first),
    prices: plans.map((made) => made.priceMicrosPerHour),
    digest: digestOf(first.plan),
    ...(peer === undefined || peer.unplaced > 0
      ? {}
      : {
          karpenter: {
            price: peer.pricePerHour * 1e6,
            ms: Math.min(peer.solveMilliseconds, peer.solveCpuMilliseconds),
          },
        }),
    ...(one.rules === 'spread' ? { strict: await strictly(world, one, what.lp) } : {}),
  };
}

function strictOf(all: readonly Measured[]): NonNullable<CostRow['strict']> {
  const strict = all.flatMap((each) => (each.strict === undefined ? [] : [each.strict]));
  const saved = all.flatMap(({ strict: mine, karpenter }) =>
    mine === undefined || karpenter === undefined ? [] : [(1 - mine.price / karpenter.price) * 100],
  );
  return {
    ...spreadOf(strict.map((one) => one.gap)),
    cost: strict.reduce((sum, one) => sum + one.price, 0) / 1e6,
    ...(saved.length === 0 ? {} : { below: mean(saved) }),
  };
}

/** The gaps and costs at each budget, in the order of the budgets. */
function budgetsOf(one: CostCase, all: readonly Measured[]): CostRow['budgets'] {
  return one.budgetsMs.map((budgetMs, at) => {
    const gap = spreadOf(all.map((each) => over(each.prices[at] ?? 0, each.bound)));
    const target = one.targets[budgetMs];
    const met =
      target !== undefined && gap.mean <= target.mean && gap.worst <= (target.worst ?? Infinity);
    return { budgetMs, gap, cost: dollars(all.map((each) => each.prices[at] ?? 0)), met };
  });
}

/** Karpenter's costs beside ours; empty if it planned no world. */
function besideKarpenter(all: readonly Measured[]): Pick<CostRow, 'karpenter' | 'below'> {
  const peers = all.flatMap(({ karpenter, bound, prices }) => {
    if (karpenter === undefined) return [];
    const saved = (1 - (prices.at(-1) ?? 0) / karpenter.price) * 100;
    return [{ ...karpenter, gap: over(karpenter.price, bound), saved }];
  });
  if (peers.length === 0) return {};
  const saved = peers.map((each) => each.saved);
  return {
    karpenter: {
      ...spreadOf(peers.map((each) => each.gap)),
      cost: dollars(peers.map((each) => each.price)),
      ms: mean(peers.map((each) => each.ms)),
    },
    below: { mean: mean(saved), least: Math.min(...saved) },
  };
}

/** Measures one case. */
export async function costRow(one: CostCase, what: What): Promise<CostRow> {
  const all: Measured[] = [];
  for (const world of worldsOf(one, what.worlds)) all.push(await measured(world, one, what));
  return {
    kind: 'cost',
    name: one.name,
    worlds: all.length,
    firstMs: mean(all.map((each) => each.firstMs)),
    first: spreadOf(all.map((each) => over(each.first, each.bound))),
    budgets: budgetsOf(one, all),
    bound: dollars(all.map((each) => each.bound)),
    bounds: [...new Set(all.map((each) => each.kind))].sort(),
    digest: all.map((each) => each.digest.slice(0, 4)).join(''),
    ...besideKarpenter(all),
    ...(one.rules === 'spread' ? { strict: strictOf(all) } : {}),
  };
}
