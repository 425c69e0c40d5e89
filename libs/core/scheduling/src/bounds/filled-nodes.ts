import { at, float64At } from '@dovetail/core-invariant';
import type { LinearProgram, LpLimits, LpSolver } from '@dovetail/core-ports';

import { nodesMin } from './aggregate.js';
import type { Column } from './columns.js';
import { Fillings } from './fillings.js';
import { type Portions, portionsOf } from './portions.js';
import type { BoundProblem } from './problem.js';
import { type Entry, ProgramBuilder } from './program.js';

const microsPerDollar = 1_000_000;
/**
 * The most rounds of pricing nodes and of looking for fillings. Ten portions need some twenty-five.
 * More rounds gain nearly nothing.
 */
const roundsMax = 120;
/**
 * Looks through fillings once, for each millisecond or counted step that a program may take:
 * together about as long as that in all rounds.
 */
const looksPerMs = 5_000;
const looksPerStep = 250;
const looksMax = 10_000_000;
/** A bound this close to the price of its fillings is not improved further. */
const closeEnough = 1.0001;
/** The share of a price by which a filling must be worth more, above the solver's rounding. */
const leastGain = 1e-7;

/** A node and what it is filled with: pods by portion. */
type Filled = { readonly column: Column; readonly counts: readonly number[] };

/** The worth of one pod of each portion, of each resource for all nodes, and of a node itself. */
type Worths = {
  readonly portions: Float64Array;
  readonly resources: Float64Array;
  readonly node: number;
};

/** A relaxation in the terms of its program. Invariant: `total` counts each demand once. */
class FilledNodes {
  readonly #problem: BoundProblem;
  readonly #portions: Portions;
  readonly #nodes: number;
  readonly #fillings: Fillings;
  readonly #filled: Filled[] = [];

  constructor(problem: BoundProblem, portions: Portions) {
    this.#problem = problem;
    this.#portions = portions;
    this.#nodes = nodesMin(problem);
    this.#fillings = new Fillings(portions, problem.buyable);
    for (const portion of portions.list.keys()) this.#startWith(portion);
  }

  /** The cheapest node for one pod of a portion, with one. */
  #startWith(portion: number): void {
    const counts = this.#portions.list.map((_, other) => (other === portion ? 1 : 0));
    const { units, admission } = at(this.#portions.list, portion);
    const fitting = this.#problem.buyable.filter(
      (column) => column.admits[admission] === 1 && this.#portions.unitsOf(column) >= units,
    );
    const [first] = fitting;
    if (first === undefined) return;
    const column = fitting.reduce(
      (best, one) => (one.priceMicrosPerHour < best.priceMicrosPerHour ? one : best),
      first,
    );
    this.#filled.push({ column, counts });
  }

  /** Whether each portion fits some node. */
  get isComplete(): boolean {
    return this.#filled.length >= this.#portions.list.length;
  }

  /** Fractions of filled nodes that hold every pod and, together, enough of each resource. */
  program(): LinearProgram {
    const program = new ProgramBuilder();
    for (const { count } of this.#portions.list) program.row(count, Infinity);
    for (const amount of this.#problem.demand) program.row(amount, Infinity);
    program.row(this.#nodes, Infinity);
    const resources = this.#portions.list.length;
    for (const { column, counts } of this.#filled)
      program.column(column.priceMicrosPerHour / microsPerDollar, Infinity, [
        ...counts.map((count, row): Entry => [row, count]),
        ...[...column.room].map((amount, r): Entry => [resources + r, amount]),
        [resources + column.room.length, 1],
      ]);
    return program.build('fractions');
  }

  worthsOf(rowDuals: Float64Array): Worths {
    const worth = (row: number): number => Math.max(0, float64At(rowDuals, row));
    const { list } = this.#portions;
    const { demand } = this.#problem;
    return {
      portions: Float64Array.from(list, (_, row) => worth(row)),
      resources: demand.map((_, r) => worth(list.length + r)),
      node: worth(list.length + demand.length),
    };
  }

  /** The worth of everything that is wanted. */
  total({ portions, resources, node }: Worths): number {
    let sum = node * this.#nodes;
    for (const [index, { count }] of this.#portions.list.entries())
      sum += count * float64At(portions, index);
    for (const [r, amount] of this.#problem.demand.entries())
      sum += amount * float64At(resources, r);
    return sum;
  }

  /**
   * Adds the fillings that are worth more than their nodes cost. Returns the most that a dollar for
   * a node is worth, and whether some were added.
   */
  grow(worths: Worths): { readonly ratio: number; readonly grew: boolean } {
    let ratio = 0;
    let grew = false;
    this.#fillings.value(worths.portions);
    for (const column of this.#problem.buyable) {
      const price = Math.max(1, column.priceMicrosPerHour) / microsPerDollar;
      const shared = worths.node + dotted(worths.resources, column.room);
      const most = shared + this.#fillings.worthOf(column);
      ratio = Math.max(ratio, most / price);
      if (most <= price * (1 + leastGain)) continue;
      const counts = this.#fillings.countsOf(column);
      if (counts === undefined) continue;
      this.#filled.push({ column, counts });
      grew = true;
    }
    return { ratio, grew };
  }
}

function dotted(worths: Float64Array, amounts: Float64Array): number {
  let sum = 0;
  for (let r = 0; r < worths.length; r += 1) sum += float64At(worths, r) * float64At(amounts, r);
  return sum;
}

/** The bound in dollars an hour that fillings of one resource prove; 0 without any. */
async function boundOf(nodes: FilledNodes, lp: LpSolver, limits: LpLimits): Promise<number> {
  let best = 0;
  for (let round = 0; round < roundsMax && nodes.isComplete; round += 1) {
    const { status, rowDuals, bound: price } = await lp.solve(nodes.program(), limits);
    if (status !== 'optimal') break;
    const worths = nodes.worthsOf(rowDuals);
    const { ratio, grew } = nodes.grow(worths);
    // At these worths, scaled down, no node is worth more than it costs. So everything costs at
    // least what it is worth.
    if (ratio > 0) best = Math.max(best, nodes.total(worths) / ratio);
    if (!grew || price <= best * closeEnough) break;
  }
  return best;
}

/**
 * Prices nodes in fractions by what they are filled with, in micro-dollars an hour. It knows that
 * pods are whole in one resource, and one rule that lets only so many of some pods share a node.
 * The other resources count for all nodes together. Each resource is tried. Returns 0 without such
 * a rule, beside existing nodes, which take pods too, and where amounts are too varied.
 */
export async function filledNodesBound(
  problem: BoundProblem,
  lp: LpSolver,
  limits: LpLimits,
): Promise<number> {
  if (problem.existing.length > 0) return 0;
  let most = 0;
  for (const resource of problem.demand.keys()) {
    const { timeMsMax, stepsMax = Infinity } = limits;
    const looks = Math.min(looksMax, looksPerMs * timeMsMax, looksPerStep * stepsMax);
    const portions = portionsOf(problem, resource, looks);
    if (portions === undefined) continue;
    most = Math.max(most, await boundOf(new FilledNodes(problem, portions), lp, limits));
  }
  return most * microsPerDollar;
}
