import { diverseWorld } from '../worlds/diverse.js';
import { generatedWorld } from '../worlds/generated.js';
import { type BenchWorld } from '../worlds/objects.js';
import { digestOf, msOf, prove, timedPlan } from './measure.js';

/** A world and a budget. The first plan alone must take less. */
export type BudgetCase = {
  readonly name: string;
  readonly world: () => BenchWorld;
  readonly budgetMs: number;
};

/**
 * How long after its budget the planner answered. `first` is the cost of the plan without a budget,
 * in dollars per hour; `cost` that of the plan in time.
 */
export type BudgetRow = {
  readonly kind: 'budget';
  readonly name: string;
  readonly pods: number;
  readonly budgetMs: number;
  readonly tookMs: number;
  readonly overMs: number;
  readonly steps: number;
  readonly first: number;
  readonly cost: number;
  readonly digest: string;
  readonly met: boolean;
};

/** A plan may exceed its budget by this many milliseconds. */
const toleranceMs = 50;

const plain = (pods: number): BenchWorld =>
  generatedWorld({ pods, seed: 1, vcpusMax: 32, rules: 'plain' });
const spread = (pods: number): BenchWorld =>
  generatedWorld({ pods, seed: 1, vcpusMax: 32, rules: 'spread' });

/** Budgets from short to long, over worlds from small to large. */
export function budgetCases(quick: boolean): readonly BudgetCase[] {
  const all: readonly (readonly [string, () => BenchWorld, number])[] = [
    ['plain 1000', () => plain(1_000), 200],
    ['plain 1000', () => plain(1_000), 1_000],
    ['spread 3000', () => spread(3_000), 1_000],
    ['diverse 5000', () => diverseWorld(5_000), 1_000],
    ['plain 10000', () => plain(10_000), 1_000],
    ['plain 10000', () => plain(10_000), 5_000],
    ['plain 100000', () => plain(100_000), 5_000],
  ];
  return all
    .slice(0, quick ? 1 : all.length)
    .map(([name, world, budgetMs]) => ({ name: `budget ${name} ${budgetMs} ms`, world, budgetMs }));
}

/**
 * Measures one plan with a budget, in milliseconds (the smaller of clock and processor time, as
 * everywhere), after a first one that warms the code.
 */
export function budgetRow(one: BudgetCase): BudgetRow {
  const world = one.world();
  const first = timedPlan(world, 0).plan;
  const timed = timedPlan(world, one.budgetMs);
  prove(world, timed.plan);
  const overMs = msOf(timed) - one.budgetMs;
  return {
    kind: 'budget',
    name: one.name,
    pods: world.pods.length,
    budgetMs: one.budgetMs,
    tookMs: msOf(timed),
    overMs,
    steps: timed.plan.steps,
    first: first.priceMicrosPerHour / 1e6,
    cost: timed.plan.priceMicrosPerHour / 1e6,
    digest: digestOf(timed.plan),
    met: overMs <= toleranceMs && timed.plan.priceMicrosPerHour <= first.priceMicrosPerHour,
  };
}
