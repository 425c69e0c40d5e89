import { at, float64At, numberAt, present } from '@dovetail/core-invariant';
import type { LpLimits, LpSolution, LpSolver } from '@dovetail/core-ports';

import { dot, resourcePrices } from '../pack/prices.js';
import type { Column } from './columns.js';
import type { BoundProblem, DemandClass } from './problem.js';
import { type Entry, ProgramBuilder } from './program.js';

/** A range of numbers of new nodes. Bounds that consider spread are computed per range. */
export type NodeRange = { readonly least: number; readonly most: number };

/**
 * A bound in micro-dollars an hour. `nodes` is the number of new nodes in the relaxed optimum, in
 * fractions.
 */
export type AssignmentBound = { readonly priceMicrosPerHour: number; readonly nodes: number };

const microsPerDollar = 1_000_000;
/**
 * The share of an objective that the solver's tolerances may add. It must not be smaller than they
 * are; a larger one weakens the bound.
 */
const tolerance = 1e-7;
/**
 * The types of least reduced cost that a restricted program starts with. More of them make programs
 * larger; fewer need more rounds.
 */
const startingTypes = 6;

/**
 * Returns the entries of one pod in the rows of its rules. A row of -1 means that the rule has
 * none.
 */
const ruleEntries = (rules: readonly number[], rows: readonly number[]): readonly Entry[] =>
  rules.flatMap((rule): readonly Entry[] => {
    const row = numberAt(rows, rule);
    return row < 0 ? [] : [[row, 1]];
  });

const holdsOne = (column: Column, cls: DemandClass): boolean =>
  column.admits[cls.admission] === 1 &&
  cls.requests.every((amount, r) => amount <= float64At(column.room, r) * (1 + 1e-12));

/** Returns the classes that fit each column. One pod must fit one node. */
function fitsOf(problem: BoundProblem): readonly (readonly number[])[] {
  return problem.buyable.map((column) =>
    [...problem.classes.keys()].filter((g) => holdsOne(column, at(problem.classes, g))),
  );
}

type Layout = {
  readonly classRows: readonly number[];
  readonly countRow: number;
  /** The variable of each chosen column's number of nodes. */
  readonly nodeColumns: readonly number[];
  readonly solution: LpSolution;
};

/**
 * Divides the pods of each class over node types in fractions. Resources and hostname rules hold
 * for all nodes of a type together. The program starts with few types and adds those that the
 * prices call worthwhile until none is left. Its result therefore equals that for all types.
 */
export class AssignmentProgram {
  readonly #problem: BoundProblem;
  readonly #fits: readonly (readonly number[])[];
  readonly #lp: LpSolver;
  readonly #limits: LpLimits;
  /** Columns chosen so far. Columns that one range needs are kept for the next. */
  readonly #chosen = new Set<number>();

  constructor(problem: BoundProblem, lp: LpSolver, limits: LpLimits) {
    this.#problem = problem;
    this.#fits = fitsOf(problem);
    this.#lp = lp;
    this.#limits = limits;
    this.#chooseFirst();
  }

  /**
   * Returns a bound for all plans with a number of new nodes in the range. It is Infinity if there
   * are none, and 0 if the solver gave up.
   */
  async solve(range: NodeRange): Promise<AssignmentBound> {
    for (;;) {
      const layout = await this.#solveChosen(range);
      const { solution } = layout;
      if (solution.status === 'infeasible') {
        if (this.#chosen.size === this.#problem.buyable.length)
          return { priceMicrosPerHour: Infinity, nodes: range.most };
        this.#problem.buyable.forEach((_, index) => this.#chosen.add(index));
        continue;
      }
      if (solution.status === 'stopped') return { priceMicrosPerHour: 0, nodes: range.least };
      const missing = this.#worthwhile(layout, range);
      if (missing.length > 0) {
        for (const index of missing) this.#chosen.add(index);
        continue;
      }
      const nodes = layout.nodeColumns.reduce(
        (sum, column) => sum + float64At(solution.columns, column),
        0,
      );
      return {
        priceMicrosPerHour: Math.max(0, solution.bound) * (1 - tolerance) * microsPerDollar,
        nodes,
      };
    }
  }

  /**
   * Chooses the types of least reduced cost at the aggregate's prices, and for each class the best
   * types that hold one pod of it.
   */
  #chooseFirst(): void {
    const { buyable, classes, demand } = this.#problem;
    const { perUnit } = resourcePrices(
      buyable.map(({ room, priceMicrosPerHour }) => ({ room, price: priceMicrosPerHour })),
      demand,
    );
    const waste = buyable.map(
      ({ room, priceMicrosPerHour }) =>
        (priceMicrosPerHour - dot(perUnit, room)) / Math.max(1, priceMicrosPerHour),
    );
    const order = [...buyable.keys()].sort(
      (a, b) => numberAt(waste, a) - numberAt(waste, b) || a - b,
    );
    for (const index of order.slice(0, startingTypes)) this.#chosen.add(index);
    const served = new Uint8Array(classes.length);
    for (const index of this.#chosen) for (const g of at(this.#fits, index)) served[g] = 1;
    for (const index of order) {
      const fresh = at(this.#fits, index).filter((g) => served[g] === 0);
      if (fresh.length === 0) continue;
      this.#chosen.add(index);
      for (const g of fresh) served[g] = 1;
    }
  }

  async #solveChosen(range: NodeRange): Promise<Layout> {
    const { classes, existing } = this.#problem;
    const program = new ProgramBuilder();
    const classRows = classes.map((cls) => program.row(cls.count, cls.count));
    const countRow = program.row(range.least, range.most);
    for (const column of existing) this.#addExisting(program, classRows, column);
    const nodeColumns = [...this.#chosen]
      .sort((a, b) => a - b)
      .map((index) => this.#addBuyable(program, { classRows, countRow, range, index }));
    return {
      classRows,
      countRow,
      nodeColumns,
      solution: await this.#lp.solve(program.build('fractions'), this.#limits),
    };
  }

  #addExisting(program: ProgramBuilder, classRows: readonly number[], column: Column): void {
    const rows = [...column.room].map((amount) => program.row(-Infinity, amount));
    this.#problem.classes.forEach((cls, g) => {
      if (holdsOne(column, cls))
        program.column(0, Infinity, [
          [numberAt(classRows, g), 1],
          ...rows.map((row, r): Entry => [row, float64At(cls.requests, r)]),
        ]);
    });
  }

  #addBuyable(
    program: ProgramBuilder,
    what: {
      readonly classRows: readonly number[];
      readonly countRow: number;
      readonly range: NodeRange;
      readonly index: number;
    },
  ): number {
    const { classes, rules, buyable } = this.#problem;
    const column = at(buyable, what.index);
    const rows = [...column.room].map(() => program.row(-Infinity, 0));
    const most = rules.map((rule) => rule.most(what.range.least));
    const least = rules.map((rule) => rule.least(what.range.most));
    const mostRows = most.map((amount) =>
      Number.isFinite(amount) ? program.row(-Infinity, 0) : -1,
    );
    const leastRows = least.map((amount) => (amount > 0 ? program.row(0, Infinity) : -1));
    const entries: Entry[] = [
      [what.countRow, 1],
      ...rows.map((row, r): Entry => [row, -float64At(column.room, r)]),
    ];
    mostRows.forEach((row, index) => {
      if (row >= 0) entries.push([row, -numberAt(most, index)]);
    });
    leastRows.forEach((row, index) => {
      if (row >= 0) entries.push([row, -numberAt(least, index)]);
    });
    for (const g of present(this.#fits[what.index], 'each column knows what fits it')) {
      const cls = at(classes, g);
      program.column(0, Infinity, [
        [numberAt(what.classRows, g), 1],
        ...rows.map((row, r): Entry => [row, float64At(cls.requests, r)]),
        ...ruleEntries(cls.limitedBy, mostRows),
        ...ruleEntries(cls.countedBy, leastRows),
      ]);
    }
    return program.column(column.priceMicrosPerHour / microsPerDollar, column.most, entries);
  }

  /**
   * Returns columns outside the program that could lower its value. Such a node's possible contents
   * are worth more, at the classes' prices, than it costs. The pods that a node must hold are
   * ignored, which only adds columns.
   */
  #worthwhile(layout: Layout, range: NodeRange): readonly number[] {
    const { classes, rules, buyable } = this.#problem;
    const worth = Float64Array.from(
      layout.classRows.map((row) => Math.max(0, float64At(layout.solution.rowDuals, row))),
    );
    const perNode = float64At(layout.solution.rowDuals, layout.countRow);
    const most = rules.map((rule) => rule.most(range.least));
    return [...buyable.keys()].filter((index) => {
      if (this.#chosen.has(index)) return false;
      const fits = at(this.#fits, index);
      const column = at(buyable, index);
      const limits = [...column.room].map((amount, r) => ({
        room: Float64Array.from(fits.map((g) => float64At(at(classes, g).requests, r))),
        price: amount,
      }));
      most.forEach((amount, rule) => {
        if (Number.isFinite(amount))
          limits.push({
            room: Float64Array.from(
              fits.map((g) => (at(classes, g).limitedBy.includes(rule) ? 1 : 0)),
            ),
            price: amount,
          });
      });
      const value = resourcePrices(
        limits,
        Float64Array.from(fits.map((g) => float64At(worth, g))),
      ).total;
      return value > column.priceMicrosPerHour / microsPerDollar - perNode + 1e-7;
    });
  }
}
