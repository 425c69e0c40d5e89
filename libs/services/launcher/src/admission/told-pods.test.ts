import { describe, expect, test } from 'vitest';

import { reason } from './reason.js';
import { ToldPods } from './told-pods.js';

const tooLarge = (largest: number, subject = 'NodePool/default') => [
  { ...reason('resources-too-large', `the largest has ${largest}`, {}), subject },
];

describe('pods that fit nowhere', () => {
  test.each([
    ['for the same reasons are no news', tooLarge(192), []],
    ['for the same reasons with other numbers are no news', tooLarge(96), []],
    ['for reasons of another pool are news', tooLarge(192, 'NodePool/gpu'), ['a', 'b']],
    ['for a further reason are news', [...tooLarge(192), ...tooLarge(8, 'x')], ['a', 'b']],
  ])('%s', (_what, again, news) => {
    const told = new ToldPods();
    expect(told.news(['a', 'b'], tooLarge(192))).toEqual(['a', 'b']);
    expect(told.news(['a', 'b'], again)).toEqual(news);
  });

  test('are told alone if those beside them are told already', () => {
    const told = new ToldPods();
    told.news(['a', 'b'], tooLarge(192));
    expect(told.news(['a', 'b', 'c'], tooLarge(192))).toEqual(['c']);
  });

  test('are news again after they had a place', () => {
    const told = new ToldPods();
    told.news(['a', 'b'], tooLarge(192));
    told.placed(['a']);
    expect(told.news(['a', 'b'], tooLarge(192))).toEqual(['a']);
  });

  test('are forgotten once they are gone and many', () => {
    const told = new ToldPods();
    const many = Array.from({ length: 1_001 }, (_, index) => `p${index}`);
    told.news(many, tooLarge(192));
    told.prune((uid) => uid !== 'p7');
    expect(told.news(many, tooLarge(192))).toEqual(['p7']);
  });
});
