import { InvariantError } from './assert.js';

// One function for each kind of array. V8 keeps one set of type feedback per function. A single
// function for all kinds would make every read in the planner's inner loops megamorphic.

function outside(index: number, length: number): InvariantError {
  return new InvariantError(`index ${index} is within an array of ${length}`);
}

/** The element at `index`, which must exist. Throws InvariantError. */
export function at<T>(values: readonly T[], index: number): T {
  const value = values[index];
  if (value === undefined) throw outside(index, values.length);
  return value;
}

/** The number at `index`, which must exist. Throws InvariantError. */
export function numberAt(values: readonly number[], index: number): number {
  const value = values[index];
  if (value === undefined) throw outside(index, values.length);
  return value;
}

/** The number at `index`, which must exist. Throws InvariantError. */
export function float64At(values: Float64Array, index: number): number {
  const value = values[index];
  if (value === undefined) throw outside(index, values.length);
  return value;
}

/** The integer at `index`, which must exist. Throws InvariantError. */
export function int32At(values: Int32Array, index: number): number {
  const value = values[index];
  if (value === undefined) throw outside(index, values.length);
  return value;
}

/** The byte at `index`, which must exist. Throws InvariantError. */
export function uint8At(values: Uint8Array, index: number): number {
  const value = values[index];
  if (value === undefined) throw outside(index, values.length);
  return value;
}

/**
 * The value, which must be there: absence is a bug. `law` says what always holds. Throws
 * InvariantError.
 */
export function present<T>(value: T | undefined, law: string): T {
  if (value === undefined) throw new InvariantError(law);
  return value;
}
