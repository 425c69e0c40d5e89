import { describe, expect, test } from 'vitest';

import { AwsSession } from '../calls/session.js';
import { systemClock } from '../testing/account.js';
import { awsPrices, priceOf } from './prices.js';

describe('lines of the price list', () => {
  const line = (price: object, instanceType: string | undefined = 'm5.large') => ({
    product: { attributes: { instanceType } },
    terms: { OnDemand: { a: { priceDimensions: { b: { pricePerUnit: price } } } } },
  });
  test.each([
    ['dollars', line({ USD: '0.0960000000' }), ['m5.large', { micros: 96_000, estimated: false }]],
    ['yuan, in China', line({ CNY: '0.5' }), ['m5.large', { micros: 500_000, estimated: false }]],
    [
      'text as the API sends',
      JSON.stringify(line({ USD: '1' })),
      ['m5.large', { micros: 1_000_000, estimated: false }],
    ],
    ['nothing for a host that is reserved', line({ USD: '0.0000000000' }), undefined],
    ['nothing where the price is endless', line({ USD: '1e400' }), undefined],
    ['nothing where it is beyond what is exact', line({ USD: '1e12' }), undefined],
    [
      'nothing without a type',
      { product: { attributes: {} }, terms: line({ USD: '1' }).terms },
      undefined,
    ],
    ['nothing without terms', { product: { attributes: { instanceType: 'x' } } }, undefined],
  ])('give %s', (_what, text, price) => expect(priceOf(text)).toEqual(price));
});

test('a partition without the Pricing API is told as such, without a call', async () => {
  const called: string[] = [];
  const session = new AwsSession({
    region: 'us-gov-west-1',
    clock: systemClock,
    observe: ({ action }) => called.push(action),
  });
  await expect(awsPrices(session).onDemandPrices()).rejects.toMatchObject({
    code: 'unavailable',
    awsCode: 'NoPricingApi',
  });
  expect(called).toEqual([]);
});
