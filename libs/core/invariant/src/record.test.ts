import { describe, expect, test } from 'vitest';

import { lookUp, put } from './record.js';

const inherited = ['constructor', 'toString', 'valueOf', 'hasOwnProperty', '__proto__'];

describe('a record of keys that others write', () => {
  test.each(inherited)('holds no %s of its own until it is put there', (key) => {
    const record: Record<string, string> = {};
    expect(lookUp(record, key)).toBeUndefined();
    put(record, key, 'mine');
    expect(lookUp(record, key)).toBe('mine');
    expect(Object.entries(record)).toEqual([[key, 'mine']]);
    expect(Object.getPrototypeOf(record)).toBe(Object.prototype);
  });

  test.each(inherited)('is asked for %s in the same way without a prototype', (key) => {
    const record = Object.create(null) as Record<string, string>;
    expect(lookUp(record, key)).toBeUndefined();
    put(record, key, 'mine');
    expect(lookUp({ ...record }, key)).toBe('mine');
  });

  test('holds nothing while it is absent', () =>
    expect(lookUp(undefined, 'constructor')).toBeUndefined());

  test('takes the last value that is put', () => {
    const record: Record<string, number> = { a: 1 };
    put(record, 'a', 2);
    expect(record).toEqual({ a: 2 });
  });
});
