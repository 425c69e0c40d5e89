import { float64At } from '@dovetail/core-invariant';
import type { LpLimits, LpSolver } from '@dovetail/core-ports';

import { resourcePrices } from '../pack/prices.js';
import type { BoundProblem } from './problem.js';
import { ProgramBuilder } from './program.js';

const microsPerDollar = 1_000_000;

/** Returns the demand that is left for new nodes once the existing ones are full. */
function uncovered(problem: BoundProblem): Float64Array {
  return problem.demand.map((amount, r) =>
    Math.max(
      0,
      amount - problem.existing.reduce((sum, column) => sum + float64At(column.room, r), 0),
    ),
  );
}

/**
 * Prices the demand for each resource alone, at its best price per unit. Returns the highest of
 * these prices, and needs no solver.
 */
export function resourcePriceBound(problem: BoundProblem): number {
  const demand = uncovered(problem);
  let most = 0;
  demand.forEach((amount, r) => {
    if (amount <= 0) return;
    const best = problem.buyable.reduce(
      (least, { room, priceMicrosPerHour }) =>
        float64At(room, r) > 0 ? Math.min(least, priceMicrosPerHour / float64At(room, r)) : least,
      Infinity,
    );
    if (Number.isFinite(best)) most = Math.max(most, amount * best);
  });
  return most;
}

/**
 * Prices fractions of nodes that cover all resources together, with the dual simplex of
 * `resourcePrices`.
 */
export function aggregateBound(problem: BoundProblem): number {
  return resourcePrices(
    problem.buyable.map(({ room, priceMicrosPerHour }) => ({ room, price: priceMicrosPerHour })),
    uncovered(problem),
  ).total;
}

/**
 * Returns the number of new nodes that spread and anti-affinity demand alone; 0 if existing nodes
 * could share the pods.
 */
export function nodesMin(problem: BoundProblem): number {
  if (problem.existing.length > 0) return 0;
  let nodes = Math.max(1, problem.nodesMin);
  problem.rules.forEach((rule, index) => {
    const pods = problem.classes.reduce(
      (sum, cls) => sum + (cls.limitedBy.includes(index) ? cls.count : 0),
      0,
    );
    nodes = Math.max(nodes, Math.ceil(pods / Math.max(1, rule.mostEver)));
  });
  return nodes;
}

/**
 * Prices whole nodes that cover all resources together and are at least as many as spread and
 * anti-affinity demand. The result is in micro-dollars an hour, and 0 if the solver found no bound.
 */
export async function integerAggregateBound(
  problem: BoundProblem,
  lp: LpSolver,
  limits: LpLimits,
): Promise<number> {
  const demand = uncovered(problem);
  const program = new ProgramBuilder();
  const rows = [...demand].map((amount) => program.row(amount * (1 - 1e-9), Infinity));
  const count = program.row(demand.some((amount) => amount > 0) ? nodesMin(problem) : 0, Infinity);
  for (const { room, priceMicrosPerHour, most } of problem.buyable) {
    program.column(priceMicrosPerHour / microsPerDollar, most, [
      ...rows.map((row, r) => [row, float64At(room, r)] as const),
      [count, 1],
    ]);
  }
  const { bound } = await lp.solve(program.build('whole-numbers'), limits);
  return Number.isFinite(bound) ? bound * microsPerDollar : 0;
}

/**
 * Returns a number of new nodes below which no plan for at most `priceMicrosPerHourMax` goes; 0 if
 * the solver found none. It covers all resources together with whole nodes.
 */
export async function fewestNodesWithin(
  problem: BoundProblem,
  priceMicrosPerHourMax: number,
  lp: LpSolver,
  limits: LpLimits,
): Promise<number> {
  const program = new ProgramBuilder();
  const rows = [...uncovered(problem)].map((amount) => program.row(amount * (1 - 1e-9), Infinity));
  const price = program.row(-Infinity, (priceMicrosPerHourMax / microsPerDollar) * (1 + 1e-9));
  for (const { room, priceMicrosPerHour, most } of problem.buyable)
    program.column(1, most, [
      ...rows.map((row, r) => [row, float64At(room, r)] as const),
      [price, priceMicrosPerHour / microsPerDollar],
    ]);
  const { bound } = await lp.solve(program.build('whole-numbers'), limits);
  return Number.isFinite(bound) ? Math.max(0, Math.ceil(bound - 1e-6)) : 0;
}
