import type { Pod } from '@dovetail/core-kube-model';
import type { LpLimits, LpSolver } from '@dovetail/core-ports';

import type { Bound } from '../plan.js';
import type { PlanOptions, Snapshot } from '../snapshot.js';
import { unassumed, type World, worldOf } from '../world/world.js';
import {
  aggregateBound,
  fewestNodesWithin,
  integerAggregateBound,
  resourcePriceBound,
} from './aggregate.js';
import { AssignmentProgram } from './assignment.js';
import { filledNodesBound } from './filled-nodes.js';
import { type BoundProblem, problemOf } from './problem.js';
import { spreadBound } from './spread.js';
import { wholeNodesBound } from './whole-nodes.js';

/** The input that a plan was made from. */
export type Planned = {
  readonly snapshot: Snapshot;
  readonly pods: readonly Pod[];
  readonly options: PlanOptions;
};

/** The limits on the effort for bounds. */
export type BoundLimits = {
  /** The wall-clock time of each program, in milliseconds; Infinity: no limit. */
  readonly programMsMax: number;
  /** The counted steps of all programs together (see `LpLimits`). Absent: no limit. */
  readonly stepsMax?: number;
  /** The most ranges of the number of nodes that are solved if hostname spread depends on it. */
  readonly rangesMax: number;
};

const defaultBoundLimits: BoundLimits = { programMsMax: 2_000, rangesMax: 25 };

/**
 * Returns the world in which each class requests the amounts that it counts as. Existing nodes take
 * pods by their requests alone, so beside such nodes nothing is assumed.
 */
function boundedWorld(world: World): World {
  if (world.nodes.length > 0) return unassumed(world);
  const classes = world.classes.map((cls) => ({ ...cls, requests: cls.newNodeRequests }));
  return { ...world, classes };
}

/**
 * The share of the time, or of the steps, for the bound that knows the most. If it does not end by
 * then, the rest is left to the weaker bounds.
 */
const wholeNodesShare = 0.7;
/**
 * The share of the steps for whole nodes that cover all resources together. It leaves as much to
 * the programs after it, whose bounds are better for large worlds.
 */
const integerShare = 0.15;

/** The limits of a part of the programs: their time, and a share of the steps. */
const limitsOf = ({ programMsMax, stepsMax }: BoundLimits, share: number): LpLimits => ({
  timeMsMax: programMsMax,
  ...(stepsMax === undefined ? {} : { stepsMax: Math.ceil(stepsMax * share) }),
});

/** The bound of each kind, in micro-dollars an hour; 0 if a kind gives none. */
export type Bounds = Readonly<Record<Exclude<Bound['kind'], 'none'>, number>>;

/**
 * Rounds a bound up to whole micro-dollars, which plans cost. First it subtracts the solver's
 * rounding.
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
    limitsOf(limits, 1),
  );
  const assignment = await plain.solve(all);
  if (problem.rules.length === 0)
    return { 'assignment-lp': safe(assignment.priceMicrosPerHour), spread: 0 };
  const knowing = new AssignmentProgram(problem, lp, limitsOf(limits, 1));
  const spread = await spreadBound(knowing, {
    all,
    rangesMax: problem.balanced ? limits.rangesMax : 1,
  });
  return { 'assignment-lp': safe(assignment.priceMicrosPerHour), spread: safe(spread) };
}

/**
 * Returns lower bounds on the price of the new nodes in any plan that places all of `pods`. Pods
 * that no node can take are left out. Each bound drops some rules and divides nodes or pods, so no
 * valid plan costs less.
 */
export async function boundsOf(
  snapshot: Snapshot,
  pods: readonly Pod[],
  options: PlanOptions,
  lp: LpSolver,
  limits: BoundLimits = defaultBoundLimits,
): Promise<Bounds> {
  const world = boundedWorld(worldOf(snapshot, pods, options));
  const problem = problemOf(world);
  if (problem.classes.length === 0 || problem.buyable.length === 0)
    return {
      'resource-price': 0,
      'aggregate-lp': 0,
      'assignment-lp': 0,
      'integer-aggregate': 0,
      spread: 0,
      'whole-nodes': 0,
    };
  // The cheap bounds come first. A solver whose time is over (see `timeBoxed` of its adapter) gives
  // no more answers, and the bounds so far count.
  const aggregate = {
    'resource-price': safe(resourcePriceBound(problem)),
    'aggregate-lp': safe(aggregateBound(problem)),
  };
  // Of small worlds the bound that knows the most comes before those that know less.
  const small = await wholeNodesBound(world, lp, {
    ...limitsOf(limits, wholeNodesShare),
    timeMsMax: limits.programMsMax * wholeNodesShare,
  });
  // It knows nothing that the bound of small worlds does not know.
  const filled =
    small > 0 ? small : await filledNodesBound(problem, lp, limitsOf(limits, wholeNodesShare));
  const whole = await integerAggregateBound(problem, lp, limitsOf(limits, integerShare));
  return {
    ...aggregate,
    'integer-aggregate': safe(whole),
    'whole-nodes': safe(filled),
    ...(await programBounds(problem, lp, limits)),
  };
}

/**
 * Returns the largest of all bounds, each computed within the time that `lp` has. `pods` must be
 * those that the plan places, because a plan that leaves pods out costs less.
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
    'whole-nodes',
  ];
  return kinds.reduce<Bound>(
    (best, kind) =>
      bounds[kind] > best.priceMicrosPerHour ? { kind, priceMicrosPerHour: bounds[kind] } : best,
    { kind: 'none', priceMicrosPerHour: 0 },
  );
}

/**
 * Returns a number of new nodes below which no plan of `pods` goes that costs at most
 * `priceMicrosPerHourMax`, charges per node included.
 */
export async function fewestNodes(
  { snapshot, pods, options }: Planned,
  priceMicrosPerHourMax: number,
  lp: LpSolver,
): Promise<number> {
  const problem = problemOf(boundedWorld(worldOf(snapshot, pods, options)));
  const { programMsMax: timeMsMax } = defaultBoundLimits;
  return fewestNodesWithin(problem, priceMicrosPerHourMax, lp, { timeMsMax });
}
