import type { CatalogEvent } from '@dovetail/contracts';
import { labels } from '@dovetail/core-api';
import { offeringValue, plainTypeValue } from '@dovetail/core-ec2-model/testing';
import { requirementsOf } from '@dovetail/core-kube-model';
import { expect, test } from 'vitest';

import { PresentPrices } from './present-prices.js';

const zone = 'us-west-2a';
const typeAt = (name: string, price: number) => ({
  ...plainTypeValue(name, 2_000),
  offerings: [offeringValue(zone, 'on-demand', price)],
});
/** A part of the catalog of a class. */
const part = (
  revision: string,
  types: readonly ReturnType<typeof typeAt>[],
  more: { readonly classUid?: string; readonly part?: number; readonly parts?: number } = {},
): CatalogEvent => ({
  kind: 'class',
  part: { classUid: 'one', part: 0, parts: 1, ...more, revision, instanceTypes: types },
  sequence: 1,
});
const priceOf = (prices: PresentPrices, instanceType: string): number | undefined =>
  prices.of({
    [labels.instanceType]: instanceType,
    [labels.zone]: zone,
    [labels.capacityType]: 'on-demand',
  });

test('the last catalog of a class counts, and an offering that it lacks has no price', () => {
  const prices = new PresentPrices();
  prices.apply(part('1', [typeAt('a', 10), typeAt('b', 20)]));
  const first = prices.revision;
  prices.apply(part('2', [typeAt('a', 10), typeAt('b', 20)]));
  expect(prices.revision).toBe(first);
  prices.apply(part('3', [typeAt('a', 11)]));
  expect(prices.revision).toBeGreaterThan(first);
  expect([priceOf(prices, 'a'), priceOf(prices, 'b')]).toEqual([11, undefined]);
});

test('an offering has a price while any class names it, and that of the class that came last', () => {
  const prices = new PresentPrices();
  prices.apply(part('1', [typeAt('a', 10)]));
  prices.apply(part('1', [typeAt('a', 12), typeAt('b', 20)], { classUid: 'two' }));
  expect(priceOf(prices, 'a')).toBe(12);
  prices.apply(part('2', [typeAt('a', 13)]));
  expect([priceOf(prices, 'a'), priceOf(prices, 'b')]).toEqual([13, 20]);
  prices.apply({ kind: 'class-gone', classUid: 'one', part: 0, sequence: 2 });
  expect(priceOf(prices, 'a')).toBe(12);
});

test('a catalog counts once all of its parts are there, and until then the last one', () => {
  const prices = new PresentPrices();
  prices.apply(part('1', [typeAt('a', 10)]));
  prices.apply(part('2', [typeAt('a', 20)], { parts: 2 }));
  expect(priceOf(prices, 'a')).toBe(10);
  prices.apply({ kind: 'reset', reason: 'the stream is gone' });
  expect(priceOf(prices, 'a')).toBe(10);
  prices.apply(part('2', [typeAt('a', 20)], { parts: 2 }));
  prices.apply(part('2', [typeAt('b', 30)], { part: 1, parts: 2 }));
  expect([priceOf(prices, 'a'), priceOf(prices, 'b')]).toEqual([20, 30]);
});

test('a type has the values of a label that it implies', () => {
  const prices = new PresentPrices();
  const family = 'karpenter.k8s.aws/instance-family';
  const requirements = requirementsOf([{ key: family, operator: 'In', values: ['m5'] }]);
  prices.apply(part('1', [{ ...typeAt('a', 10), requirements }]));
  expect([...(prices.valuesOf('a', family) ?? [])]).toEqual(['m5']);
  expect([...(prices.valuesOf('a', 'unknown') ?? [])]).toEqual([]);
  expect(prices.valuesOf('b', family)).toBeUndefined();
});

test('a price that is an estimate is known as one', () => {
  const prices = new PresentPrices();
  const [type] = [typeAt('a', 10)];
  const estimated = type.offerings.map((offering) => ({ ...offering, priceEstimated: true }));
  const held = {
    [labels.instanceType]: 'a',
    [labels.zone]: zone,
    [labels.capacityType]: 'on-demand',
  };
  for (const offerings of [type.offerings, estimated]) {
    prices.apply(part(`of ${String(offerings[0]?.priceEstimated)}`, [{ ...type, offerings }]));
    const priceEstimated = offerings === estimated;
    expect(prices.priceOf(held)).toEqual({ priceMicrosPerHour: 10, priceEstimated });
  }
});
