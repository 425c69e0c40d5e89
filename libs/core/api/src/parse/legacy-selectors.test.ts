import { inheritedKeys } from '@dovetail/core-kube-model/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { readAmiSelector, readResourceSelector } from './legacy-selectors.js';

fc.configureGlobal({ seed: 1 });

describe('a legacy selector', () => {
  test.each<[string, object, string]>([
    ['an empty key', { '': 'a' }, 'a selector needs tag keys'],
    ['an unknown special key', { 'aws::region': 'x' }, 'write one of aws-ids'],
    ['owners of subnets', { 'aws::owners': 'self' }, 'this key does not select here'],
    ['no value', { Name: '' }, 'write a value'],
    ['only commas', { Name: ' , ,' }, 'write a value'],
  ])('with %s is refused', (_name, selector, remedy) =>
    expect(() => readResourceSelector(selector, 's')).toThrow(remedy),
  );

  test('that is absent selects nothing', () => {
    expect(readResourceSelector(undefined, 's')).toEqual([]);
    expect(readAmiSelector({}, 's')).toEqual([]);
  });

  test('of images may name them and their owners', () =>
    expect(readAmiSelector({ 'aws::name': 'n', 'aws::owners': 'self', team: 'a' }, 's')).toEqual([
      { name: 'n', owner: 'self', tags: { team: 'a' } },
    ]));

  test.each(inheritedKeys)('may ask for the tag %s', (key) =>
    expect(readResourceSelector(JSON.parse(`{"${key}":"a"}`), 's')).toEqual([
      { tags: { [key]: 'a' } },
    ]),
  );

  test('has as many terms as its values have combinations, each of them once', () => {
    const values = fc.uniqueArray(fc.constantFrom('1', '2', '3', '4'), { minLength: 1 });
    fc.assert(
      fc.property(values, values, (a, b) => {
        const terms = readResourceSelector({ a: a.join(','), b: b.join(', ') }, 's');
        const pairs = terms.map(({ tags }) => `${tags?.['a'] ?? ''}${tags?.['b'] ?? ''}`);
        expect(new Set(pairs)).toEqual(new Set(a.flatMap((one) => b.map((two) => `${one}${two}`))));
        expect(pairs).toHaveLength(a.length * b.length);
      }),
    );
  });

  test('may unfold into a hundred terms, not more: each costs a call to EC2', () => {
    const list = (length: number): string => Array.from({ length }, (_, index) => index).join(',');
    expect(readResourceSelector({ a: list(10), b: list(10) }, 's')).toHaveLength(100);
    expect(() => readResourceSelector({ a: list(10), b: list(11) }, 's')).toThrow(
      'at most 100 combinations',
    );
  });
});
