/**
 * A linear program to minimise: `rowLower <= A x <= rowUpper`, `columnLower <= x <= columnUpper`.
 * Infinity means no bound. The matrix is compressed by columns: column j has `values[k]` in row
 * `indices[k]` for k in `[starts[j], starts[j + 1])`. Solvers work best with amounts near 1.
 * Invariant: `starts` has one entry more than `cost` and never falls.
 */
export type LinearProgram = {
  readonly cost: Float64Array;
  readonly columnLower: Float64Array;
  readonly columnUpper: Float64Array;
  readonly rowLower: Float64Array;
  readonly rowUpper: Float64Array;
  readonly starts: Int32Array;
  readonly indices: Int32Array;
  readonly values: Float64Array;
  /** Whether every column must be a whole number. Absent: none need be. */
  readonly wholeNumbers?: boolean;
};

/** The limits of one solve. */
export type LpLimits = {
  /** Wall-clock time after which the solver stops; Infinity: never. It may overshoot. */
  readonly timeMsMax: number;
  /**
   * Counted steps after which the solver stops, on any machine at the same place. A step is about
   * the work of an iteration over ten thousand entries. Absent: no such limit. It may overshoot.
   */
  readonly stepsMax?: number;
};

/** The answer of a solve. */
export type LpSolution = {
  /** `stopped`: a limit ended it. Then `bound` is valid, but the columns may be useless. */
  readonly status: 'optimal' | 'infeasible' | 'stopped';
  /**
   * No feasible solution costs less. It is the optimum if proven, or else the best known bound
   * (-Infinity: none).
   */
  readonly bound: number;
  readonly columns: Float64Array;
  /** Dual values of the rows. They have no meaning for whole numbers. */
  readonly rowDuals: Float64Array;
  /** The counted steps that it took (see `LpLimits.stepsMax`). */
  readonly steps: number;
};

/** Solves linear programs. Calls may overlap and are answered in their order. */
export interface LpSolver {
  /** Rejects with an Error when the solver itself fails (out of memory, a broken program). */
  solve(program: LinearProgram, limits: LpLimits): Promise<LpSolution>;
}
