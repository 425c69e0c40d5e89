import { describe, expect, test } from '@jest/globals';
import { nodePriceOf, nodePriceText, type NodePrice } from './claim-price.js';

const read = (text: string): NodePrice | undefined => nodePriceOf({ annotations: { 'dovetail.sh/price-per-hour': text } });

describe("what a claim's instance costs", () => {
  test.each<[NodePrice, string]>([
    [{ priceMicrosPerHour: 38_500, priceEstimated: false }, '0.0385'], [{ priceMicrosPerHour: 38_500, priceEstimated: true }, '~0.0385'],
    [{ priceMicrosPerHour: 1, priceEstimated: false }, '0.000001'], [{ priceMicrosPerHour: 12_000_000, priceEstimated: false }, '12.00'], [{ priceMicrosPerHour: 0, priceEstimated: false }, '0.00'],
  ])('%j is written as %s, and read back', (price, text) => expect([nodePriceText(price), read(text)]).toEqual([text, price]));
  test.each(['', 'free', '-1.00', '1e3', '0.0385 $'])('%j is no price', (text) => expect(read(text)).toBeUndefined());
  test('nothing is known before the launch', () => expect(nodePriceOf({ annotations: {} })).toBeUndefined());
});
