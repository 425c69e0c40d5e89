import { describe, expect, test } from 'vitest';

import { ProgramBuilder } from './program.js';

describe('a program under construction', () => {
  test('numbers rows and columns from 0, each in the order of its own kind', () => {
    const program = new ProgramBuilder();
    expect([program.row(0, 1), program.row(0, 1)]).toEqual([0, 1]);
    expect([program.column(1, 1, []), program.column(1, 1, [])]).toEqual([0, 1]);
    expect(program.row(0, 1)).toBe(2);
  });

  test('stores entries column by column, and leaves out those of 0', () => {
    const program = new ProgramBuilder();
    const [first, second] = [program.row(1, 2), program.row(-Infinity, 5)];
    program.column(10, 3, [
      [first, 4],
      [second, 0],
    ]);
    program.column(20, Infinity, []);
    program.column(30, 1, [
      [second, 6],
      [first, -7],
    ]);
    expect(program.build('fractions')).toEqual({
      cost: Float64Array.of(10, 20, 30),
      columnLower: Float64Array.of(0, 0, 0),
      columnUpper: Float64Array.of(3, Infinity, 1),
      rowLower: Float64Array.of(1, -Infinity),
      rowUpper: Float64Array.of(2, 5),
      starts: Int32Array.of(0, 1, 1, 3),
      indices: Int32Array.of(first, second, first),
      values: Float64Array.of(4, 6, -7),
      wholeNumbers: false,
    });
  });

  test('is built as it stands: what is added later is not in it', () => {
    const program = new ProgramBuilder();
    program.column(1, 1, [[program.row(0, 1), 1]]);
    const built = program.build('whole-numbers');
    program.column(2, 1, []);
    program.row(0, 1);
    expect([built.wholeNumbers, built.cost.length, built.rowLower.length]).toEqual([true, 1, 1]);
    expect(program.build('fractions').cost).toHaveLength(2);
  });

  test('is empty at first', () => {
    const { cost, rowLower, starts } = new ProgramBuilder().build('fractions');
    expect([cost.length, rowLower.length, [...starts]]).toEqual([0, 0, [0]]);
  });
});
