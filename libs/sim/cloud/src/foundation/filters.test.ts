import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { admitted, filterValuesMax, matchesPattern, tagFilterValues } from './filters.js';

describe("EC2's wildcards", () => {
  test.each([
    ['m5.*', 'm5.large', true],
    ['m5.*', 'm5a.large', false],
    ['m?.large', 'm5.large', true],
    ['m?.large', 'm5a.large', false],
    ['\\*', '*', true],
    ['\\*', 'anything', false],
    ['a.b', 'axb', false],
    ['Web', 'web', false],
    ['*', '', true],
  ])('%s against %s: %s', (pattern, value, matches) => {
    expect(matchesPattern(pattern, value)).toBe(matches);
  });

  test('text whose wildcards are escaped matches itself and nothing else', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (value, other) => {
        const pattern = value.replaceAll(/[*?\\]/g, '\\$&');
        expect(matchesPattern(pattern, value)).toBe(true);
        expect(matchesPattern(pattern, other)).toBe(value === other);
      }),
    );
  });
});

describe('filters', () => {
  const things = [
    { id: 'one', tags: { team: 'a', Name: 'first' } },
    { id: 'two', tags: { team: 'b' } },
  ];
  const select = (...filters: { name: string; values: string[] }[]): readonly string[] =>
    admitted(
      things,
      filters,
      (thing) => (name) => (name === 'id' ? [thing.id] : tagFilterValues(thing.tags, name)),
      new Set(['id']),
    ).map(({ id }) => id);

  test.each([
    ['no filter admits everything', [], ['one', 'two']],
    ['one value of a filter suffices', [{ name: 'id', values: ['two', 'three'] }], ['two']],
    [
      'every filter must admit',
      [
        { name: 'id', values: ['o*', 'two'] },
        { name: 'tag:team', values: ['a'] },
      ],
      ['one'],
    ],
    ['a tag key is enough', [{ name: 'tag-key', values: ['Name'] }], ['one']],
    ['a tag value is enough', [{ name: 'tag-value', values: ['b'] }], ['two']],
    ['a missing tag admits nothing', [{ name: 'tag:missing', values: ['*'] }], []],
  ])('%s', (_sentence, filters, ids) => {
    expect(select(...filters)).toEqual(ids);
  });

  test('a name that the thing cannot be filtered by is refused', () => {
    expect(() => select({ name: 'colour', values: ['red'] })).toThrow(
      "The filter 'colour' is invalid",
    );
  });

  test('more values than EC2 takes are refused', () => {
    const values = Array.from({ length: filterValuesMax + 1 }, (_, index) => `i-${index}`);
    expect(() => select({ name: 'id', values })).toThrow(
      `The maximum number of filter values specified on a single call is ${filterValuesMax}`,
    );
  });
});
