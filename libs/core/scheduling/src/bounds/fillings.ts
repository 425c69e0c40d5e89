import { at, float64At, int32At, numberAt } from '@dovetail/core-invariant';

import type { Column } from './columns.js';
import type { Portion, Portions } from './portions.js';

/** The most worth of any filling with at most so many units, and the last portion put in. */
type Table = { readonly worth: Float64Array; readonly last: Int32Array };

/** No portion was put in at these units: the filling is that of one unit less. */
const nothing = -1;

/** Fills tables for nodes that admit the same pods. One table per number of limited pods. */
class Tables {
  readonly #portions: readonly { readonly portion: Portion; readonly index: number }[];
  readonly #tables: readonly Table[];

  constructor({ list, most }: Portions, admits: Uint8Array, widest: number) {
    this.#portions = list
      .map((portion, index) => ({ portion, index }))
      .filter(({ portion }) => admits[portion.admission] === 1);
    this.#tables = Array.from({ length: 1 + most }, () => ({
      worth: new Float64Array(widest + 1),
      last: new Int32Array(widest + 1),
    }));
  }

  value(worths: Float64Array): void {
    for (const [limited, { worth, last }] of this.#tables.entries()) {
      const fewer = this.#tables[limited - 1];
      // Reads here are unchecked for speed. Each place is within the table.
      for (let units = 0; units < worth.length; units += 1) {
        let best = units === 0 ? 0 : (worth[units - 1] as number);
        let from = nothing;
        for (const { portion, index } of this.#portions) {
          const rest = units - portion.units;
          const before = portion.limited ? fewer?.worth : worth;
          if (rest < 0 || before === undefined) continue;
          const value = (before[rest] as number) + (worths[index] as number);
          if (value > best) [best, from] = [value, index];
        }
        worth[units] = best;
        last[units] = from;
      }
    }
  }

  worthOf(units: number): number {
    return float64At(at(this.#tables, this.#tables.length - 1).worth, units);
  }

  countsOf(units: number, list: readonly Portion[]): readonly number[] {
    const counts = list.map(() => 0);
    let left = units;
    for (let table = this.#tables.length - 1; left > 0;) {
      const index = int32At(at(this.#tables, table).last, left);
      if (index === nothing) {
        left -= 1;
        continue;
      }
      const { units: taken, limited } = at(list, index);
      counts[index] = numberAt(counts, index) + 1;
      left -= taken;
      if (limited) table -= 1;
    }
    return counts;
  }
}

/**
 * The fillings of nodes that are worth the most, in whole units of one resource. Pods are as many
 * as wanted; the program counts them.
 */
export class Fillings {
  readonly #portions: Portions;
  readonly #byAdmission = new Map<string, Tables>();

  constructor(portions: Portions, columns: readonly Column[]) {
    this.#portions = portions;
    const widest = new Map<string, number>();
    for (const column of columns) {
      const text = column.admits.join('');
      widest.set(text, Math.max(widest.get(text) ?? 0, portions.unitsOf(column)));
    }
    for (const { admits } of columns) {
      const text = admits.join('');
      if (!this.#byAdmission.has(text))
        this.#byAdmission.set(text, new Tables(portions, admits, widest.get(text) ?? 0));
    }
  }

  /** Values all fillings anew, by the worth of one pod of each portion. */
  value(worths: Float64Array): void {
    for (const tables of this.#byAdmission.values()) tables.value(worths);
  }

  /** The most worth of any filling of a node. */
  worthOf(column: Column): number {
    return this.#tablesOf(column)?.worthOf(this.#portions.unitsOf(column)) ?? 0;
  }

  /** A filling of that worth: pods by portion. */
  countsOf(column: Column): readonly number[] | undefined {
    return this.#tablesOf(column)?.countsOf(this.#portions.unitsOf(column), this.#portions.list);
  }

  #tablesOf({ admits }: Column): Tables | undefined {
    return this.#byAdmission.get(admits.join(''));
  }
}
