import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { securityGroupFilters, subnetFilters, tagFilters } from './selectors.js';

fc.configureGlobal({ seed: 1 });

describe('selector terms as EC2 filters', () => {
  test('ids share one call; each term of tags is a call of its own, its tags together', () => {
    expect(
      subnetFilters([{ id: 'subnet-2' }, { tags: { b: '*', a: 'x' } }, { id: 'subnet-1' }]),
    ).toEqual([
      [{ name: 'subnet-id', values: ['subnet-1', 'subnet-2'] }],
      [
        { name: 'tag:a', values: ['x'] },
        { name: 'tag-key', values: ['b'] },
      ],
    ]);
  });
  test('security groups may be named', () =>
    expect(
      securityGroupFilters([{ name: 'nodes' }, { id: 'sg-1' }, { name: 'web', tags: { a: 'x' } }]),
    ).toEqual([
      [{ name: 'group-id', values: ['sg-1'] }],
      [{ name: 'group-name', values: ['nodes'] }],
      [
        { name: 'group-name', values: ['web'] },
        { name: 'tag:a', values: ['x'] },
      ],
    ]));
  test('no terms, and empty ones, ask for nothing rather than for everything', () =>
    expect([...subnetFilters([]), ...subnetFilters([{}, { tags: {} }])]).toEqual([]));
});

test('tags are filters in key order, whatever their order', () =>
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.constant('*'))), (tags) => {
      const filters = tagFilters(tags);
      expect(filters).toEqual(tagFilters(Object.fromEntries(Object.entries(tags).toReversed())));
      const asked = filters.map(({ name, values: [value = ''] }) =>
        name === 'tag-key' ? [value, '*'] : [name.slice('tag:'.length), value],
      );
      expect(new Map(asked as [string, string][])).toEqual(new Map(Object.entries(tags)));
    }),
  ));

test('an id that is named twice is asked for once', () =>
  expect(subnetFilters([{ id: 'subnet-1' }, { id: 'subnet-1' }])).toEqual([
    [{ name: 'subnet-id', values: ['subnet-1'] }],
  ]));

describe('any terms', () => {
  const anyTerms = fc.array(
    fc.record(
      {
        id: fc.constantFrom('id-1', 'id-2'),
        name: fc.constantFrom('web', 'db'),
        tags: fc.dictionary(fc.constantFrom('a', 'b'), fc.constantFrom('x', '*'), { maxKeys: 2 }),
      },
      { requiredKeys: [] },
    ),
    { maxLength: 5 },
  );

  test('make no call without a filter, and no filter without a value', () =>
    fc.assert(
      fc.property(anyTerms, (terms) => {
        for (const query of [...subnetFilters(terms), ...securityGroupFilters(terms)]) {
          expect(query.length).toBeGreaterThan(0);
          for (const { values } of query) expect(values.length).toBeGreaterThan(0);
        }
      }),
    ));

  test('ask for each id in one call, and narrow it by nothing', () =>
    fc.assert(
      fc.property(anyTerms, (terms) => {
        const ids = new Set(terms.flatMap(({ id }) => id ?? []));
        const calls = subnetFilters(terms).filter(([first]) => first?.name === 'subnet-id');
        expect(calls).toEqual(
          ids.size === 0 ? [] : [[{ name: 'subnet-id', values: [...ids].toSorted() }]],
        );
      }),
    ));

  test('of subnets are not selected by name: EC2 has no such filter', () =>
    fc.assert(
      fc.property(anyTerms, (terms) => {
        const names = subnetFilters(terms).flatMap((query) => query.map(({ name }) => name));
        expect(names.every((name) => name === 'subnet-id' || name.startsWith('tag'))).toBe(true);
      }),
    ));
});
