import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { PriceQuote } from './facts.js';
import type { Offering } from './instance-type.js';
import { cheapestOfferingFirst, offeringKey, priceBookOf } from './offering.js';

fc.configureGlobal({ seed: 1 });

const quote = (
  capacityType: 'on-demand' | 'spot',
  priceMicrosPerHour: number,
  zone?: string,
): PriceQuote => ({
  instanceType: 'm5.large',
  ...(zone === undefined ? {} : { zone }),
  capacityType,
  priceMicrosPerHour,
  estimated: false,
});

describe('a price book', () => {
  test('knows no price that was not quoted', () => {
    const book = priceBookOf([]);
    expect([book.onDemand('m5.large'), book.spot('m5.large', 'a')]).toEqual([undefined, undefined]);
  });

  test('takes the price of on-demand for spot until there is one spot quote, marked estimated', () => {
    const onDemand = quote('on-demand', 96_000);
    expect(priceBookOf([onDemand]).spot('m5.large', 'a')).toEqual({
      micros: 96_000,
      estimated: true,
    });
    const book = priceBookOf([onDemand, quote('spot', 30_000, 'b')]);
    expect(book.spot('m5.large', 'a')).toBeUndefined();
    expect(book.spot('m5.large', 'b')).toEqual({ micros: 30_000, estimated: false });
  });

  test('keeps the price on dedicated hosts apart', () => {
    const dedicated = { ...quote('on-demand', 102_000), tenancy: 'dedicated' as const };
    const book = priceBookOf([dedicated, quote('on-demand', 96_000)]);
    expect([book.onDemand('m5.large')?.micros, book.dedicated('m5.large')?.micros]).toEqual([
      96_000, 102_000,
    ]);
  });

  test('does not take a spot quote without a zone for any zone', () =>
    expect(priceBookOf([quote('spot', 1)]).spot('m5.large', 'a')).toBeUndefined());

  test('keeps the last of two quotes for one thing', () =>
    expect(
      priceBookOf([quote('on-demand', 1), quote('on-demand', 2)]).onDemand('m5.large')?.micros,
    ).toBe(2));
});

test('the key of an offering names it among all', () =>
  expect(offeringKey({ instanceType: 'm5.large', zone: 'us-east-1a', capacityType: 'spot' })).toBe(
    'spot:m5.large:us-east-1a',
  ));

test('the order of offerings is total: by price, then zone, then capacity type', () => {
  const anyOffering: fc.Arbitrary<Offering> = fc.record({
    zone: fc.constantFrom('a', 'b'),
    capacityType: fc.constantFrom('on-demand' as const, 'spot' as const),
    priceMicrosPerHour: fc.nat({ max: 2 }),
    available: fc.constant(true),
    priceEstimated: fc.constant(false),
  });
  fc.assert(
    fc.property(fc.array(anyOffering), (offerings) => {
      const sorted = offerings.toSorted(cheapestOfferingFirst);
      expect(offerings.toReversed().toSorted(cheapestOfferingFirst)).toEqual(sorted);
      const prices = sorted.map(({ priceMicrosPerHour }) => priceMicrosPerHour);
      expect(prices).toEqual(prices.toSorted((a, b) => a - b));
    }),
  );
});
