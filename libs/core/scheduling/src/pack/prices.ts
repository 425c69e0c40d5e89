import { at, float64At, numberAt } from '@dovetail/core-invariant';
/** A node that can be bought: its room and its price. */
export type Buyable = { readonly room: Float64Array; readonly price: number };

/**
 * The best price per unit of each resource, and a lower bound on the price of the demand (`total`).
 * `nodes` are the fractions of each node that hold the demand at these prices.
 */
export type ResourcePrices = {
  readonly perUnit: Float64Array;
  readonly total: number;
  readonly nodes: Float64Array;
};

/** Amounts below this count as zero. It allows for rounding in the tableau, whose scale is 1. */
const tiny = 1e-9;

/**
 * Performs one pivot of a tableau in condensed form. Rows are constraints, columns are the
 * variables outside the basis, and the last column has the bounds.
 */
function pivot(
  rows: Float64Array[],
  objective: Float64Array,
  cell: { readonly row: number; readonly column: number },
): void {
  const source = at(rows, cell.row);
  const divisor = float64At(source, cell.column);
  for (let j = 0; j < source.length; j += 1) source[j] = (source[j] as number) / divisor;
  source[cell.column] = 1 / divisor;
  for (const target of [...rows, objective]) {
    if (target === source) continue;
    const factor = float64At(target, cell.column);
    if (factor === 0) continue;
    for (let j = 0; j < target.length; j += 1)
      target[j] = (target[j] as number) - factor * (source[j] as number);
    target[cell.column] = -factor / divisor;
  }
}

function leavingRow(rows: readonly Float64Array[], column: number): number {
  let best = -1;
  let least = Infinity;
  rows.forEach((row, index) => {
    const factor = float64At(row, column);
    if (factor <= tiny) return;
    const ratio = float64At(row, row.length - 1) / factor;
    if (ratio < least - tiny) [least, best] = [ratio, index];
  });
  return best;
}

function enteringColumn(objective: Float64Array): number {
  let best = -1;
  let most = tiny;
  for (let j = 0; j < objective.length - 1; j += 1)
    if (float64At(objective, j) > most) [most, best] = [float64At(objective, j), j];
  return best;
}

/**
 * Solves the dual of covering the demand with fractions of nodes. It finds the prices that make the
 * demand dearest while no node costs less than its room is worth. Any real set of nodes for the
 * demand costs at least `total`. The simplex method runs on one row per offer and one column per
 * resource.
 */
export function resourcePrices(offers: readonly Buyable[], demand: Float64Array): ResourcePrices {
  const active = [...demand.keys()].filter(
    (r) => float64At(demand, r) > 0 && offers.some(({ room }) => float64At(room, r) > 0),
  );
  const perUnit = new Float64Array(demand.length);
  if (active.length === 0 || offers.length === 0)
    return { perUnit, total: 0, nodes: new Float64Array(offers.length) };
  // Amounts span twelve orders of magnitude, so each resource is scaled to a demand of 1.
  const rows = offers.map(({ room, price }) => {
    const row = new Float64Array(active.length + 1);
    for (let index = 0; index < active.length; index += 1) {
      const r = numberAt(active, index);
      row[index] = float64At(room, r) / float64At(demand, r);
    }
    row[active.length] = price;
    return row;
  });
  const objective = Float64Array.from([...active.map(() => 1), 0]);
  const columns = active.map((_, index) => index);
  // The slack of a row has the number -1 minus its index.
  const basis = offers.map((_, index) => -1 - index);
  for (let round = 0; round < 50 * active.length; round += 1) {
    const column = enteringColumn(objective);
    if (column < 0) break;
    const row = leavingRow(rows, column);
    if (row < 0) break;
    pivot(rows, objective, { row, column });
    [basis[row], columns[column]] = [numberAt(columns, column), numberAt(basis, row)];
  }
  basis.forEach((variable, index) => {
    const r = variable < 0 ? undefined : active[variable];
    const row = rows[index];
    if (r !== undefined && row !== undefined)
      perUnit[r] = Math.max(0, float64At(row, row.length - 1)) / float64At(demand, r);
  });
  const nodes = new Float64Array(offers.length);
  columns.forEach((variable, j) => {
    if (variable < 0) nodes[-1 - variable] = Math.max(0, -float64At(objective, j));
  });
  const safe = feasible(perUnit, offers);
  return { perUnit: safe, total: dot(safe, demand), nodes };
}

/**
 * Scales prices down until no node costs less than its room is worth, because rounding may leave
 * them slightly too high.
 */
function feasible(perUnit: Float64Array, offers: readonly Buyable[]): Float64Array {
  let most = 1;
  for (const { room, price } of offers) {
    const worth = dot(perUnit, room);
    if (worth > price && worth > 0) most = Math.min(most, price / worth);
  }
  return perUnit.map((one) => one * most * (1 - 1e-12));
}

/**
 * Returns the worth of amounts at unit prices. Reads here are unchecked for speed: packing and the
 * search call it for every node that they try. Invariant: both vectors have the same length.
 */
export function dot(perUnit: Float64Array, amounts: Float64Array): number {
  let sum = 0;
  for (let r = 0; r < perUnit.length; r += 1)
    sum += (perUnit[r] as number) * (amounts[r] as number);
  return sum;
}
