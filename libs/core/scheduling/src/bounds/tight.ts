import type { Pod } from '@dovetail/core-kube-model';
import type { LpSolver } from '@dovetail/core-ports';

import type { Bound } from '../plan.js';
import type { PlanOptions, Snapshot } from '../snapshot.js';
import { worldOf } from '../world/world.js';
import { aggregateBound, integerAggregateBound, resourcePriceBound } from './aggregate.js';
import { AssignmentProgram } from './assignment.js';
import { type BoundProblem, problemOf } from './problem.js';
import { spreadBound } from './spread.js';

/** What bounds may cost. */
export type BoundLimits = {
  /** Wall-clock time per program given to the solver. */
  readonly programMsMax: number;
  /** How many ranges of the number of nodes are looked at when hostname spread makes it matter. */
  readonly rangesMax: number;
};

export const defaultBoundLimits: BoundLimits = { programMsMax: 2_000, rangesMax: 25 };

/** Every bound by its kind; 0 where one says nothing. */
export type Bounds = Readonly<Record<Exclude<Bound['kind'], 'none'>, number>>;

/**
 * Plans cost whole micro-dollars, so a bound may be rounded up, once what solvers round is taken
 * off.
 */
const safe = (price: number): number =>
  Number.isFinite(price) ? Math.max(0, Math.ceil(price * (1 - 1e-9) - 1e-6)) : 0;

async function programBounds(
  problem: BoundProblem,
  lp: LpSolver,
  limits: BoundLimits,
): Promise<Pick<Bounds, 'assignment-lp' | 'spread'>> {
  const pods = problem.classes.reduce((sum, cls) => sum + cls.count, 0);
  const all = { least: 0, most: pods };
  const plain = new AssignmentProgram(
    {
      ...problem,
      rules: [],
      classes: problem.classes.map((cls) => ({ ...cls, limitedBy: [], countedBy: [] })),
    },
    lp,
    { timeMsMax: limits.programMsMax },
  );
  const assignment = await plain.solve(all);
  if (problem.rules.length === 0)
    return { 'assignment-lp': safe(assignment.priceMicrosPerHour), spread: 0 };
  const knowing = new AssignmentProgram(problem, lp, { timeMsMax: limits.programMsMax });
  const spread = await spreadBound(knowing, {
    all,
    rangesMax: problem.balanced ? limits.rangesMax : 1,
  });
  return { 'assignment-lp': safe(assignment.priceMicrosPerHour), spread: safe(spread) };
}

/**
 * Lower bounds on what new nodes cost in any plan that places all of `pods` (pods that no node
 * could ever take left aside). Each drops some of the rules and lets nodes or pods be divided, so
 * no plan that keeps the rules costs less.
 */
export async function boundsOf(
  snapshot: Snapshot,
  pods: readonly Pod[],
  options: PlanOptions,
  lp: LpSolver,
  limits: BoundLimits = defaultBoundLimits,
): Promise<Bounds> {
  const problem = problemOf(worldOf(snapshot, pods, options));
  if (problem.classes.length === 0 || problem.buyable.length === 0)
    return {
      'resource-price': 0,
      'aggregate-lp': 0,
      'assignment-lp': 0,
      'integer-aggregate': 0,
      spread: 0,
    };
  // Cheap ones first: a solver whose time is over (see `timeBoxed` of its adapter) answers nothing
  // more, and what is known by then counts.
  const aggregate = {
    'resource-price': safe(resourcePriceBound(problem)),
    'aggregate-lp': safe(aggregateBound(problem)),
  };
  const whole = safe(await integerAggregateBound(problem, lp, { timeMsMax: limits.programMsMax }));
  return {
    ...aggregate,
    'integer-aggregate': whole,
    ...(await programBounds(problem, lp, limits)),
  };
}

/**
 * The largest of all bounds, each given as much time as `lp` has. `pods` are those that the plan in
 * question places: whoever leaves pods out pays less.
 */
export async function tightBound(
  snapshot: Snapshot,
  pods: readonly Pod[],
  options: PlanOptions,
  lp: LpSolver,
  limits: BoundLimits = defaultBoundLimits,
): Promise<Bound> {
  const bounds = await boundsOf(snapshot, pods, options, lp, limits);
  const kinds: readonly (keyof Bounds)[] = [
    'resource-price',
    'aggregate-lp',
    'assignment-lp',
    'integer-aggregate',
    'spread',
  ];
  return kinds.reduce<Bound>(
    (best, kind) =>
      bounds[kind] > best.priceMicrosPerHour ? { kind, priceMicrosPerHour: bounds[kind] } : best,
    { kind: 'none', priceMicrosPerHour: 0 },
  );
}
