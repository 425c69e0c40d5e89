import { describe, expect, test } from 'vitest';

import { StatusError } from './errors.js';
import { parseFieldSelector, parseLabelSelector, selectorTest } from './selectors.js';

const labels = { app: 'web', tier: 'front', size: '3' };

describe('a label selector in a query', () => {
  test.each([
    ['', true],
    ['app=web', true],
    ['app==web', true],
    ['app!=web', false],
    ['app=api', false],
    ['missing!=anything', true],
    ['app in (web, api)', true],
    ['app notin (web,api)', false],
    ['missing notin (web)', true],
    ['app', true],
    ['!app', false],
    ['!missing', true],
    ['size>2', true],
    ['size<3', false],
    ['app=web,tier=back', false],
    ['app in (web,api),tier=front', true],
  ])('%j selects app=web,tier=front,size=3: %s', (text, selected) => {
    expect(parseLabelSelector(text)(labels)).toBe(selected);
  });

  test.each(['app in web', 'a=b=c', 'app in'])('%j is refused', (text) => {
    expect(() => parseLabelSelector(text)).toThrow(StatusError);
  });
});

describe('a LabelSelector object', () => {
  test.each([
    ['absent selects nothing', undefined, false],
    ['empty selects everything', {}, true],
    ['all labels must match', { matchLabels: { app: 'web', tier: 'back' } }, false],
    [
      'labels and expressions must match',
      { matchLabels: { app: 'web' }, matchExpressions: [{ key: 'tier', operator: 'Exists' }] },
      true,
    ],
  ])('%s', (_sentence, selector, selected) => {
    expect(selectorTest(selector)(labels)).toBe(selected);
  });

  test('an unknown operator is refused', () => {
    const selector = { matchExpressions: [{ key: 'app', operator: 'Like', values: ['w*'] }] };
    expect(() => selectorTest(selector)).toThrow('"Like" is not a valid label selector operator');
  });
});

describe('a field selector in a query', () => {
  test.each([
    ['', []],
    ['spec.nodeName=', [{ field: 'spec.nodeName', value: '', equal: true }]],
    [
      'a=b,c!=d',
      [
        { field: 'a', value: 'b', equal: true },
        { field: 'c', value: 'd', equal: false },
      ],
    ],
    ['a==b', [{ field: 'a', value: 'b', equal: true }]],
  ])('%j is read as its terms', (text, terms) => {
    expect(parseFieldSelector(text)).toEqual(terms);
  });

  test('a term without a comparison is refused', () => {
    expect(() => parseFieldSelector('spec.nodeName')).toThrow(StatusError);
  });
});
