import { expect, test } from 'vitest';

import { decisionValue } from '../testing/console-stage.js';
import { Gaps } from './gaps.js';

const gap = (atMs: number, least?: number) =>
  decisionValue('gap', {
    atMs,
    priceMicrosPerHour: 1_920_000,
    priceEstimated: true,
    facts: { nodes: '12', planNodes: '11', planPriceMicrosPerHour: '1850000', podsUnplaced: '2' },
    ...(least === undefined ? {} : { lowerBoundMicrosPerHour: least }),
  });

const viewOf = (...decisions: readonly ReturnType<typeof decisionValue>[]) => {
  const gaps = new Gaps();
  for (const decision of decisions) gaps.take(decision);
  return gaps.view(100);
};

test('before any comparison, and after other decisions, there is none', () =>
  expect(viewOf(decisionValue('plan', { lowerBoundMicrosPerHour: 5 }))).toEqual({ bounds: [] }));

test('the last comparison has its numbers, and all bounds stand in the order of time', () =>
  expect(viewOf(gap(20, 7), gap(10, 5))).toEqual({
    last: {
      atMs: 20,
      nodes: 12,
      priceMicrosPerHour: 1_920_000,
      planNodes: 11,
      planPriceMicrosPerHour: 1_850_000,
      lowerBoundMicrosPerHour: 7,
      podsUnplaced: 2,
      priceEstimated: true,
    },
    bounds: [
      [10, 5],
      [20, 7],
    ],
  }));

test('a comparison without a bound is no point of the line', () =>
  expect(viewOf(gap(10, 5), gap(20))).toMatchObject({ last: { atMs: 20 }, bounds: [[10, 5]] }));

test('of more bounds than the page may have, the last of those that are close count', () => {
  const many = Array.from({ length: 3_000 }, (_, index) => gap(index, index));
  const { bounds } = viewOf(...many);
  expect(bounds.length).toBeLessThanOrEqual(100);
  expect(bounds.at(-1)).toEqual([2_999, 2_999]);
});
