// The thread that HiGHS runs in. A solve blocks its thread, and WebAssembly memory never shrinks,
// so neither may be the caller's. The target `gen` compiles it, because a worker thread starts
// without a loader.
import { constants, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';

import {
  type LinearProgram,
  type LpLimits,
  type LpSolution,
  messageOf,
} from '@dovetail/core-ports';
import loadHighs, { type Model, type ModelData } from 'highs';

import type { HighsThreadData } from './highs-solver.js';
import { wasmLoading } from './wasm-loading.js';

type Ask = { readonly id: number; readonly program: LinearProgram; readonly limits: LpLimits };

/** HiGHS' own codes for "optimal" and "infeasible". */
const optimal = 7;
const infeasible = 8;

/** An iteration over so many entries of the matrix is one step. */
const entriesPerStep = 10_000;
/**
 * The steps between two checkpoints of a search over whole numbers. HiGHS counts no iterations of
 * its heuristics, and checkpoints come between any two parts of the search. Measured: 2 to 15 ms.
 */
const checkpointSteps = 100;

// On Linux this is the priority of the calling thread only; elsewhere it would be the process'.
if ((workerData as HighsThreadData).background && process.platform === 'linux')
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

// The package types its ES module as CommonJS, where the default export is one level deeper.
const highs = await (loadHighs as unknown as typeof loadHighs.default)({ ...wasmLoading });
const bounded = (values: Float64Array): Float64Array =>
  values.map((value) =>
    value === Infinity ? highs.infinity : value === -Infinity ? -highs.infinity : value,
  );

function modelOf(program: LinearProgram): ModelData {
  const numCols = program.cost.length;
  const numRows = program.rowLower.length;
  return {
    numCols,
    numRows,
    colCost: program.cost,
    colLower: bounded(program.columnLower),
    colUpper: bounded(program.columnUpper),
    rowLower: bounded(program.rowLower),
    rowUpper: bounded(program.rowUpper),
    matrix: {
      format: 'csc' as const,
      numRows,
      numCols,
      starts: program.starts,
      indices: program.indices,
      values: program.values,
    },
    ...(program.wholeNumbers ? { integrality: new Int32Array(numCols).fill(1) } : {}),
  };
}

/** HiGHS' answer in our words. */
const statusOf = (code: number): LpSolution['status'] =>
  code === optimal ? 'optimal' : code === infeasible ? 'infeasible' : 'stopped';

/** The answer for a program without columns, which HiGHS refuses. Its rows are all zero. */
function solvedWithoutColumns({ rowLower, rowUpper }: LinearProgram): LpSolution {
  const holds = rowLower.every((lower, row) => lower <= 0 && (rowUpper[row] ?? 0) >= 0);
  return {
    status: holds ? 'optimal' : 'infeasible',
    bound: holds ? 0 : Infinity,
    columns: new Float64Array(0),
    rowDuals: new Float64Array(rowLower.length),
    steps: 1,
  };
}

function solved(program: LinearProgram, limits: LpLimits): LpSolution {
  if (program.cost.length === 0) return solvedWithoutColumns(program);
  // A model stays in WebAssembly memory until it is disposed of. Garbage collection never does
  // that.
  return highs.withModel(modelOf(program), (model) => {
    model.options.set({ output_flag: false });
    if (Number.isFinite(limits.timeMsMax))
      model.options.set({ time_limit: limits.timeMsMax / 1000 });
    // Presolve costs more than it saves on assignment programs; whole numbers gain from it. The
    // caller wants a bound, and closing the last hundredth of a percent would take most of the
    // time.
    if (program.wholeNumbers) model.options.set({ mip_rel_gap: 1e-4 });
    else
      model.options.set({
        presolve: 'off',
        primal_feasibility_tolerance: 1e-9,
        dual_feasibility_tolerance: 1e-9,
      });
    const steps = ran(model, program, limits.stepsMax ?? Infinity);
    const code = model.getModelStatus();
    const { colValue, rowDual } = model.getSolution();
    const status = statusOf(code);
    // An incumbent of a stopped search is no bound. The value that the search has proved is one.
    const proved = program.wholeNumbers
      ? Number(model.info.get('mip_dual_bound'))
      : code === optimal
        ? model.getObjectiveValue()
        : -Infinity;
    return {
      status,
      bound: status === 'infeasible' ? Infinity : proved,
      columns: colValue,
      rowDuals: rowDual,
      steps,
    };
  });
}

/** Runs a model until it is solved or a limit is reached. Returns the counted steps. */
function ran(model: Model, program: LinearProgram, stepsMax: number): number {
  if (program.wholeNumbers) {
    let steps = 0;
    model.run({
      [highs.constants.callbackType.mipInterrupt]: (event) => {
        steps += checkpointSteps;
        if (steps >= stepsMax) event.interrupt();
        return undefined;
      },
    });
    return steps + checkpointSteps;
  }
  const perIteration = Math.ceil(Math.max(1, program.values.length) / entriesPerStep);
  if (Number.isFinite(stepsMax))
    model.options.set({ simplex_iteration_limit: Math.floor(stepsMax / perIteration) });
  model.run();
  return (1 + Number(model.info.get('simplex_iteration_count'))) * perIteration;
}

parentPort?.on('message', ({ id, program, limits }: Ask) => {
  try {
    parentPort?.postMessage({ id, solution: solved(program, limits) });
  } catch (error) {
    parentPort?.postMessage({ id, message: messageOf(error) });
  }
});
