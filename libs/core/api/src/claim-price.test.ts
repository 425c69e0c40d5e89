import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { type NodePrice, nodePriceOf, nodePriceText } from './claim-price.js';

fc.configureGlobal({ seed: 1 });

const read = (text: string): NodePrice | undefined =>
  nodePriceOf({ annotations: { 'dovetail.sh/price-per-hour': text } });

describe("what a claim's instance costs", () => {
  test.each<[NodePrice, string]>([
    [{ priceMicrosPerHour: 38_500, priceEstimated: false }, '0.0385'],
    [{ priceMicrosPerHour: 38_500, priceEstimated: true }, '~0.0385'],
    [{ priceMicrosPerHour: 1, priceEstimated: false }, '0.000001'],
    [{ priceMicrosPerHour: 12_000_000, priceEstimated: false }, '12.00'],
    [{ priceMicrosPerHour: 0, priceEstimated: false }, '0.00'],
  ])('%j is written as %s, and read back', (price, text) =>
    expect([nodePriceText(price), read(text)]).toEqual([text, price]),
  );
  test.each(['', 'free', '-1.00', '1e3', '0.0385 $'])('%j is no price', (text) =>
    expect(read(text)).toBeUndefined(),
  );
  test('nothing is known before the launch', () =>
    expect(nodePriceOf({ annotations: {} })).toBeUndefined());
});

test('every price below a million dollars reads back as it was written', () =>
  fc.assert(
    fc.property(
      fc.nat({ max: 2 ** 31 - 1 }),
      fc.boolean(),
      (priceMicrosPerHour, priceEstimated) => {
        const price = { priceMicrosPerHour, priceEstimated };
        expect(read(nodePriceText(price))).toEqual(price);
      },
    ),
  ));

test('a price has at least cents, and no zero behind them', () =>
  fc.assert(
    fc.property(fc.nat(), (priceMicrosPerHour) => {
      expect(nodePriceText({ priceMicrosPerHour, priceEstimated: false })).toMatch(
        /^[0-9]+\.[0-9]{2}([0-9]{0,3}[1-9])?$/,
      );
    }),
  ));
