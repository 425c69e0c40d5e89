import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { catalogTypes, type TwinType } from './account.js';
import { dollarsOf, spotPriceAt, spotStepMs } from './prices.js';

const type = catalogTypes('us-west-2').find(({ facts }) => facts.name === 'm5.large') as TwinType;
const onDemand = type.onDemandPriceMicros as number;
const time = fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2027, 0, 1) });

describe('a Spot price', () => {
  test('is a fraction of the on-demand price, within the documented bounds', () => {
    fc.assert(
      fc.property(fc.string(), time, (seed, nowMs) => {
        const price = spotPriceAt(seed, type, 'us-west-2a', nowMs)?.priceMicros ?? 0;
        expect(price / onDemand).toBeGreaterThan(0.28 * 0.96 - 0.002);
        expect(price / onDemand).toBeLessThan(0.62 * 1.04 + 0.002);
      }),
    );
  });

  test('holds from its start, for one step, and then changes at most once', () => {
    fc.assert(
      fc.property(time, (nowMs) => {
        const price = spotPriceAt('seed', type, 'us-west-2a', nowMs);
        const sinceMs = price?.sinceMs ?? 0;
        expect(sinceMs).toBeLessThanOrEqual(nowMs);
        expect(nowMs - sinceMs).toBeLessThan(spotStepMs);
        expect(spotPriceAt('seed', type, 'us-west-2a', sinceMs)).toEqual(price);
        expect(spotPriceAt('seed', type, 'us-west-2a', sinceMs + spotStepMs - 1)).toEqual(price);
      }),
    );
  });

  test('does not exist for a type without an on-demand price, or one that is not sold as Spot', () => {
    const { onDemandPriceMicros: _price, ...unpriced } = type;
    const unsold = { ...type, facts: { ...type.facts, supportedUsageClasses: ['on-demand'] } };
    expect(spotPriceAt('seed', unpriced, 'us-west-2a', 0)).toBeUndefined();
    expect(spotPriceAt('seed', unsold as TwinType, 'us-west-2a', 0)).toBeUndefined();
  });
});

test('prices are written in dollars with six digits', () => {
  expect(dollarsOf(96_000)).toBe('0.096000');
});
