import { float64At } from '@dovetail/core-invariant';
import type { LpLimits, LpSolver } from '@dovetail/core-ports';

import { resourcePrices } from '../pack/prices.js';
import type { BoundProblem } from './problem.js';
import { ProgramBuilder } from './program.js';

const microsPerDollar = 1_000_000;

/** What new nodes have to hold when existing ones are filled to the brim. */
function uncovered(problem: BoundProblem): Float64Array {
  return problem.demand.map((amount, r) =>
    Math.max(
      0,
      amount - problem.existing.reduce((sum, column) => sum + float64At(column.room, r), 0),
    ),
  );
}

/**
 * For each resource by itself, the demand at the best price per unit; the dearest resource decides.
 * No solver.
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
 * Fractions of nodes that cover all resources together, by the dual simplex of `resourcePrices`.
 */
export function aggregateBound(problem: BoundProblem): number {
  return resourcePrices(
    problem.buyable.map(({ room, priceMicrosPerHour }) => ({ room, price: priceMicrosPerHour })),
    uncovered(problem),
  ).total;
}

/**
 * Nodes that spread or anti-affinity demands by itself. With existing nodes that could share the
 * pods: none.
 */
function nodesMin(problem: BoundProblem): number {
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
 * Whole nodes that cover all resources together, and as many as spread and anti-affinity demand.
 * Micro-dollars per hour.
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
