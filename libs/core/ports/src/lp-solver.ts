/**
 * A linear program to be minimised: `rowLower <= A x <= rowUpper`, `columnLower <= x <= columnUpper`. Infinity means no
 * bound. The matrix is compressed by columns: column j has `values[k]` in row `indices[k]` for k in
 * `[starts[j], starts[j + 1])`. Best scaled so that amounts are near 1.
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
  /** Every column must be a whole number; absent: none need be. */
  readonly wholeNumbers?: boolean;
};

export type LpLimits = {
  /** Wall-clock time after which the solver stops; it may overshoot. */
  readonly timeMsMax: number;
};

export type LpSolution = {
  /** `stopped`: a limit ended it; `bound` is valid nevertheless, the columns may be of no use. */
  readonly status: 'optimal' | 'infeasible' | 'stopped';
  /** Nothing feasible costs less: the objective where it is proven optimal, else the best bound known (-Infinity if none). */
  readonly bound: number;
  readonly columns: Float64Array;
  /** Dual values of the rows; meaningless for whole numbers. */
  readonly rowDuals: Float64Array;
};

/** Solves linear programs. Calls may overlap; each is answered in the order in which it was asked. */
export interface LpSolver {
  /** Rejects with an Error when the solver itself fails (out of memory, a broken program). */
  solve(program: LinearProgram, limits: LpLimits): Promise<LpSolution>;
}
