import type { LpSolver } from '@dovetail/core-ports';
import {
  defaultPlanOptions,
  defaultSizing,
  fewestNodes,
  type Plan,
} from '@dovetail/core-scheduling';

import { diverseWorld } from '../worlds/diverse.js';
import { generatedWorld } from '../worlds/generated.js';
import { type BenchWorld } from '../worlds/objects.js';
import { boundFor, digestOf, firstPlan, msOf, prove, timedPlan } from './measure.js';
import { type PeerResult, planWithPeer } from './peer.js';

/** Worlds that are planned at the least price, and with the default sizes of nodes. */
export type SizesCase = { readonly name: string; readonly worlds: () => readonly BenchWorld[] };

/**
 * The sums over the worlds of a way to plan. Money is US dollars per hour; `charged` includes the
 * charge per node.
 */
type Sums = { readonly nodes: number; readonly cost: number; readonly charged: number };

/** One row of the table of sizes. */
export type SizesRow = {
  readonly kind: 'sizes';
  readonly name: string;
  readonly worlds: number;
  /** First plans at the least price. */
  readonly least: Sums;
  /** First plans with the default sizes, and their time. */
  readonly first: Sums & { readonly ms: number };
  /** Plans with the default sizes after one second. */
  readonly improved: Sums;
  /** The lower bound with the charge, and the improved plans' distance above it in percent. */
  readonly bound: number;
  readonly gap: number;
  /** The fewest nodes of any plans that cost at most 5 % more than the bound. */
  readonly fewest: number;
  readonly karpenter?: Sums & {
    /** How much less plans cost than Karpenter's after one second: the least of all worlds. */
    readonly below: number;
    /** Whether each plan is cheaper after one second, and no first plan is dearer. */
    readonly met: boolean;
  };
  readonly digest: string;
};

const sizes = [Infinity, 32, 16] as const;

const generated = (rules: 'plain' | 'spread', pods: number, seeds: number): SizesCase => ({
  name: `sizes ${rules} ${pods}`,
  worlds: () =>
    sizes.flatMap((vcpusMax) =>
      Array.from({ length: seeds }, (_, at) =>
        generatedWorld({ pods, seed: at + 1, vcpusMax, rules }),
      ),
    ),
});

/** All cases, smallest first. */
export const sizesCases = (quick: boolean): readonly SizesCase[] =>
  quick
    ? [generated('plain', 200, 1)]
    : [
        generated('plain', 200, 3),
        generated('plain', 1_000, 3),
        generated('plain', 3_000, 3),
        generated('spread', 200, 3),
        generated('spread', 1_000, 3),
        { name: 'sizes diverse 1000', worlds: () => [diverseWorld(1_000)] },
      ];

const budgetMs = 1_000;
const withinBound = 1.05;
/** Tolerance in percent for Karpenter's prices, which are sums of fractions of dollars. */
const rounding = 1e-6;
const chargeOf = (nodes: number): number => nodes * defaultSizing.nodeChargeMicrosPerHour;

type Measured = {
  readonly least: Plan;
  readonly first: Plan;
  readonly ms: number;
  readonly improved: Plan;
  readonly bound: number;
  readonly fewest: number;
  readonly peer?: PeerResult;
};

async function measured(
  world: BenchWorld,
  what: { readonly peer: boolean; readonly lp: LpSolver },
): Promise<Measured> {
  const least = timedPlan(world, 0).plan;
  const first = firstPlan(world, 3, defaultSizing);
  const improved = timedPlan(world, budgetMs, defaultSizing).plan;
  for (const made of [least, first.plan, improved]) prove(world, made);
  const { priceMicrosPerHour: bound } = await boundFor(world, what.lp, defaultSizing);
  const options = { ...defaultPlanOptions, ...defaultSizing };
  return {
    least,
    first: first.plan,
    ms: msOf(first),
    improved,
    bound,
    fewest: await fewestNodes({ ...world, options }, bound * withinBound, what.lp),
    ...(what.peer ? { peer: await planWithPeer(world) } : {}),
  };
}

const sum = <T>(all: readonly T[], of: (each: T) => number): number =>
  all.reduce((total, each) => total + of(each), 0);

function sumsOf(plans: readonly Plan[]): Sums {
  const nodes = sum(plans, (made) => made.newNodes.length);
  const micros = sum(plans, (made) => made.priceMicrosPerHour);
  return { nodes, cost: micros / 1e6, charged: (micros + chargeOf(nodes)) / 1e6 };
}

/** Karpenter's sums; undefined if it planned not every world. */
function besideKarpenter(all: readonly Measured[]): SizesRow['karpenter'] {
  const pairs = all.flatMap(({ peer, ...ours }) => (peer === undefined ? [] : [{ ours, peer }]));
  if (pairs.length < all.length || pairs.some(({ peer }) => peer.unplaced > 0)) return undefined;
  const nodes = sum(pairs, ({ peer }) => peer.nodes.length);
  const cost = sum(pairs, ({ peer }) => peer.pricePerHour);
  const least = (of: (ours: Omit<Measured, 'peer'>) => Plan): number =>
    Math.min(
      ...pairs.map(({ ours, peer }) => 100 - of(ours).priceMicrosPerHour / 1e4 / peer.pricePerHour),
    );
  const below = least(({ improved }) => improved);
  const met = below > 0 && least(({ first }) => first) > -rounding;
  return { nodes, cost, charged: cost + chargeOf(nodes) / 1e6, below, met };
}

/** Measures one case. The checker proves each plan. */
export async function sizesRow(
  one: SizesCase,
  what: { readonly peer: boolean; readonly lp: LpSolver },
): Promise<SizesRow> {
  const all: Measured[] = [];
  for (const world of one.worlds()) all.push(await measured(world, what));
  const improved = sumsOf(all.map((each) => each.improved));
  const bound = sum(all, (each) => each.bound) / 1e6;
  const karpenter = besideKarpenter(all);
  return {
    kind: 'sizes',
    name: one.name,
    worlds: all.length,
    least: sumsOf(all.map((each) => each.least)),
    first: { ...sumsOf(all.map((each) => each.first)), ms: sum(all, (each) => each.ms) },
    improved,
    bound,
    gap: bound > 0 ? (improved.charged / bound - 1) * 100 : 0,
    fewest: sum(all, (each) => each.fewest),
    ...(karpenter === undefined ? {} : { karpenter }),
    digest: all.map((each) => digestOf(each.first).slice(0, 4)).join(''),
  };
}
