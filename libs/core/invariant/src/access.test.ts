import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { at, float64At, int32At, numberAt, present, uint8At } from './access.js';
import { InvariantError } from './assert.js';

describe('checked access', () => {
  test.each<[string, () => unknown, string]>([
    ['behind the end', () => at(['a'], 1), 'index 1 is within an array of 1'],
    ['before the start', () => at(['a'], -1), 'index -1 is within an array of 1'],
    ['of an empty array', () => at([], 0), 'index 0 is within an array of 0'],
    ['behind numbers', () => numberAt([1], 1), 'index 1 is within an array of 1'],
    ['behind bytes', () => uint8At(new Uint8Array(2), 2), 'index 2 is within an array of 2'],
    ['behind floats', () => float64At(new Float64Array(2), 2), 'index 2 is within an array of 2'],
    [
      'between integers',
      () => int32At(new Int32Array(2), 0.5),
      'index 0.5 is within an array of 2',
    ],
    ['of a value that is missing', () => present(undefined, 'x is known'), 'x is known'],
  ])('refuses what is %s', (_what, read, law) => {
    expect(read).toThrow(new InvariantError(law));
  });

  test.each<[string, () => unknown, unknown]>([
    ['the first element', () => at(['a', 'b'], 0), 'a'],
    ['the last element', () => at(['a', 'b'], 1), 'b'],
    ['a float', () => float64At(Float64Array.of(0.5), 0), 0.5],
    ['an integer', () => int32At(Int32Array.of(-7), 0), -7],
    ['a number', () => numberAt([1, 0.5], 1), 0.5],
    ['a byte', () => uint8At(Uint8Array.of(255), 0), 255],
    ['a value that is there', () => present('x', 'x is known'), 'x'],
    ['zero, which is not absent', () => present(0, 'zero is a value'), 0],
  ])('answers %s', (_what, read, value) => {
    expect(read()).toBe(value);
  });

  test('of any array answers exactly the places that it has', () =>
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 5 }),
        fc.integer({ min: -2, max: 7 }),
        (values, index) => {
          const reads = [
            () => at(values, index),
            () => numberAt(values, index),
            () => float64At(Float64Array.from(values), index),
            () => int32At(Int32Array.from(values), index),
            () => uint8At(Uint8Array.from(values), index),
          ];
          for (const read of reads)
            if (index >= 0 && index < values.length) expect(read()).toBe(values[index]);
            else expect(read).toThrow(InvariantError);
        },
      ),
      { seed: 1 },
    ));
});
