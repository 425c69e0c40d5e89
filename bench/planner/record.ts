import { keepRun, writePage } from '../kept.js';
import type { BudgetRow } from './budget.js';
import type { CostRow } from './cost.js';
import type { CurveRow } from './curve.js';
import type { ExistingRow } from './existing.js';
import { markdownOf } from './report.js';
import type { SizesRow } from './sizes.js';
import type { SpeedRow } from './speed.js';

/**
 * One measured row: a line of `bench/results/planner.ndjson`. `load` is the machine's one-minute
 * load at its start.
 */
export type Measured = {
  readonly at: string;
  readonly cpus: number;
  readonly load: number;
  /** True for a gate with fewer worlds, which is never part of the published table. */
  readonly quick: boolean;
  readonly row: SpeedRow | CostRow | BudgetRow | CurveRow | ExistingRow | SizesRow;
};

/** The newest whole measurement of each row, in the order in which rows were first measured. */
function newest(all: readonly Measured[]): readonly Measured[] {
  const rows = new Map<string, Measured>();
  for (const one of all) if (!one.quick) rows.set(`${one.row.kind} ${one.row.name}`, one);
  return [...rows.values()];
}

/**
 * Appends a row to the results. If it is a whole one, writes the published table from the newest of
 * each row.
 */
export async function keep(measured: Measured): Promise<void> {
  const all = await keepRun('planner', measured);
  if (!measured.quick) await writePage('planner', markdownOf(newest(all)));
}
