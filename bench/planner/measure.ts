import { createHash } from 'node:crypto';

import { timeBoxed } from '@dovetail/adapter-highs';
import type { LpSolver } from '@dovetail/core-ports';
import {
  type Bound,
  checkPlan,
  defaultPlanOptions,
  finishMsPerNode,
  type Plan,
  plan,
  type PlanOptions,
  tightBound,
} from '@dovetail/core-scheduling';

import { type BenchWorld } from '../worlds/objects.js';

/**
 * Milliseconds of one plan: by the clock, and of this process' processors. A quiet machine would
 * take at most the smaller one.
 */
export type Timed = { readonly plan: Plan; readonly wallMs: number; readonly cpuMs: number };

const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

/** Far more steps than any budget allows: time ends the search. */
const unlimited = 1_000_000_000;

/**
 * Makes one plan with a budget in milliseconds, of the clock or of processor time, whichever ends
 * later. On a busy machine the clock alone would cut plans short by chance. Processor time alone
 * would count threads that compile and collect garbage. 0 means the first plan only.
 */
export function timedPlan(
  world: BenchWorld,
  budgetMs: number,
  over: Partial<PlanOptions> = {},
): Timed {
  const startWall = performance.now();
  const startCpu = cpuMs();
  const isOver = (reservedMs: number): boolean =>
    performance.now() - startWall + reservedMs >= budgetMs &&
    cpuMs() - startCpu + reservedMs >= budgetMs;
  const made = plan(world.snapshot, world.pods, {
    ...defaultPlanOptions,
    ...over,
    ...(budgetMs > 0
      ? { stepsMax: unlimited, shouldStop: (nodes) => isOver(nodes * finishMsPerNode) }
      : { stepsMax: 0 }),
  });
  return { plan: made, wallMs: performance.now() - startWall, cpuMs: cpuMs() - startCpu };
}

/** The first plan of a service that has planned before: the least of some runs with warm code. */
export function firstPlan(world: BenchWorld, runs: number, over: Partial<PlanOptions> = {}): Timed {
  let best = timedPlan(world, 0, over);
  for (let run = 1; run < runs; run += 1) {
    const next = timedPlan(world, 0, over);
    if (msOf(next) < msOf(best)) best = next;
  }
  return best;
}

export const msOf = (timed: Timed): number => Math.min(timed.wallMs, timed.cpuMs);

/** Throws unless the plan places every pod and breaks no rule. */
export function prove(world: BenchWorld, made: Plan, over: Partial<PlanOptions> = {}): void {
  const violations = checkPlan(world.snapshot, world.pods, made, {
    ...defaultPlanOptions,
    ...over,
  });
  if (violations.length > 0)
    throw new Error(
      `${world.name}: the checker finds ${violations.length} violations: ${violations
        .slice(0, 3)
        .map((one) => `${one.where}: ${one.message}`)
        .join('; ')}`,
    );
  if (made.unplaced.length > 0)
    throw new Error(
      `${world.name}: ${made.unplaced.length} pods are not placed, first ${made.unplaced[0]?.podUid}: ${made.unplaced[0]?.reasons[0]?.message}`,
    );
}

/** Time for all linear programs of one world together, in milliseconds. */
const boundMsMax = 20_000;

/** The best lower bound for a world with every pod placed. */
export const boundFor = (
  world: BenchWorld,
  lp: LpSolver,
  over: Partial<PlanOptions> = {},
): Promise<Bound> =>
  tightBound(
    world.snapshot,
    world.pods,
    { ...defaultPlanOptions, ...over },
    timeBoxed(lp, boundMsMax),
    { programMsMax: 20_000, rangesMax: 25 },
  );

/** Twelve digits for a whole plan. Equal digests mean equal plans. */
export const digestOf = (made: Plan): string =>
  createHash('sha256').update(JSON.stringify(made)).digest('hex').slice(0, 12);
