import type { LinearProgram } from '@dovetail/core-ports';

/** An entry of a column in a row. */
export type Entry = readonly [row: number, value: number];

/** A linear program under construction: rows first, then columns with their entries. */
export class ProgramBuilder {
  readonly #rowLower: number[] = [];
  readonly #rowUpper: number[] = [];
  readonly #cost: number[] = [];
  readonly #upper: number[] = [];
  readonly #starts: number[] = [0];
  readonly #indices: number[] = [];
  readonly #values: number[] = [];

  /** Adds a row between `lower` and `upper` and returns its number. */
  row(lower: number, upper: number): number {
    this.#rowLower.push(lower);
    return this.#rowUpper.push(upper) - 1;
  }

  /** Adds a column between 0 and `upper` and returns its number. Entries of 0 are left out. */
  column(cost: number, upper: number, entries: Iterable<Entry>): number {
    for (const [row, value] of entries) {
      if (value === 0) continue;
      this.#indices.push(row);
      this.#values.push(value);
    }
    this.#starts.push(this.#indices.length);
    this.#upper.push(upper);
    return this.#cost.push(cost) - 1;
  }

  /** Returns the program with all rows and columns so far. */
  build(kind: 'fractions' | 'whole-numbers'): LinearProgram {
    return {
      cost: Float64Array.from(this.#cost),
      columnLower: new Float64Array(this.#cost.length),
      columnUpper: Float64Array.from(this.#upper),
      rowLower: Float64Array.from(this.#rowLower),
      rowUpper: Float64Array.from(this.#rowUpper),
      starts: Int32Array.from(this.#starts),
      indices: Int32Array.from(this.#indices),
      values: Float64Array.from(this.#values),
      wholeNumbers: kind === 'whole-numbers',
    };
  }
}
