import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { canonicalJson } from './canonical-json.js';

fc.configureGlobal({ seed: 1 });

describe('canonical JSON', () => {
  test('says a value the same whatever the order of its fields', () =>
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const reversed = Object.fromEntries(Object.entries(value).reverse());
        const text = canonicalJson(value);
        return canonicalJson(reversed) === text && canonicalJson(JSON.parse(text)) === text;
      }),
    ));
  test('refuses what JSON cannot say', () =>
    expect(() => canonicalJson({ a: Number.NaN })).toThrow(TypeError));
});

test.each([
  [undefined, 'undefined'],
  [Number.NaN, 'number'],
  [Infinity, 'number'],
  [1n, 'bigint'],
  [Symbol('s'), 'symbol'],
  [() => 1, 'function'],
])('%p has no canonical text', (value, type) =>
  expect(() => canonicalJson([value])).toThrow(`a value of type ${type}`),
);

test.each<[unknown, string]>([
  [{ b: 1, a: undefined }, '{"b":1}'],
  [{ b: { d: 1, c: 2 }, a: [] }, '{"a":[],"b":{"c":2,"d":1}}'],
  [null, 'null'],
  ['\n', '"\\n"'],
  [-0, '0'],
])('%j is written %s', (value, text) => expect(canonicalJson(value)).toBe(text));
