import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';

import type { BudgetRow } from './budget.js';
import type { CostRow } from './cost.js';
import type { CurveRow } from './curve.js';
import type { ExistingRow } from './existing.js';
import { markdownOf } from './report.js';
import type { SpeedRow } from './speed.js';

/**
 * One row as it was measured: a line of `bench/results/planner.ndjson`. `load`: the machine's
 * one-minute load when it began.
 */
export type Measured = {
  readonly at: string;
  readonly cpus: number;
  readonly load: number;
  /** Fewer worlds, for a gate: never part of the table that readers see. */
  readonly quick: boolean;
  readonly row: SpeedRow | CostRow | BudgetRow | CurveRow | ExistingRow;
};

const results = new URL('../results/', import.meta.url);
const lines = new URL('planner.ndjson', results);

/** The newest whole measurement of each row, in the order in which rows were first measured. */
function newest(all: readonly Measured[]): readonly Measured[] {
  const rows = new Map<string, Measured>();
  for (const one of all) if (!one.quick) rows.set(`${one.row.kind} ${one.row.name}`, one);
  return [...rows.values()];
}

/**
 * Appends a row to the results, and writes the table that readers see from the newest of each row,
 * if it is a whole one.
 */
export async function keep(measured: Measured): Promise<void> {
  await mkdir(results, { recursive: true });
  await appendFile(lines, `${JSON.stringify(measured)}\n`);
  if (measured.quick) return;
  const text = await readFile(lines, 'utf8');
  const all = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Measured);
  await writeFile(new URL('planner.md', results), markdownOf(newest(all)));
}
