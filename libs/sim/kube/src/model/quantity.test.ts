import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { addAmounts, amountsOf, maxAmounts, parseMillis, quantityText } from './quantity.js';

describe('a quantity in thousandths', () => {
  test.each([
    ['1', 1000],
    ['100m', 100],
    ['1.5', 1500],
    ['.5', 500],
    ['1k', 1_000_000],
    ['1Ki', 1_024_000],
    ['1e3', 1_000_000],
    ['-2', -2000],
    ['1n', 1],
    ['1500u', 2],
    [3, 3000],
  ])('%s is %s', (quantity, millis) => {
    expect(parseMillis(quantity)).toBe(millis);
  });

  test.each(['', 'one', '1KB', '1.2.3', '1 Gi'])('%j is none', (text) => {
    expect(parseMillis(text)).toBeUndefined();
  });
});

describe('the text of an amount', () => {
  test.each([
    ['cpu', 1500, '1500m'],
    ['cpu', 2000, '2'],
    ['memory', 1024 ** 3 * 1000, '1Gi'],
    ['memory', 1536 * 1024 ** 2 * 1000, '1536Mi'],
    ['ephemeral-storage', 1000 * 1000, '1000'],
    ['memory', 0, '0'],
    ['pods', 1024 * 1000, '1024'],
  ])('%s %d is %s', (name, millis, text) => {
    expect(quantityText(name, millis)).toBe(text);
  });

  test('reads back as the same amount', () => {
    const name = fc.constantFrom('cpu', 'memory', 'pods');
    fc.assert(
      fc.property(name, fc.integer({ min: 0, max: 2 ** 50 }), (resource, millis) => {
        expect(parseMillis(quantityText(resource, millis))).toBe(millis);
      }),
    );
  });
});

describe('amounts of several resources', () => {
  const amounts = fc.dictionary(fc.constantFrom('cpu', 'memory', 'pods'), fc.nat());

  test('text that is no quantity counts as zero', () => {
    expect(amountsOf({ cpu: '2', memory: 'much' })).toEqual({ cpu: 2000, memory: 0 });
    expect(amountsOf(undefined)).toEqual({});
  });

  test('the order of a sum and of a maximum does not matter', () => {
    fc.assert(
      fc.property(amounts, amounts, (left, right) => {
        expect(addAmounts(left, right)).toEqual(addAmounts(right, left));
        expect(maxAmounts(left, right)).toEqual(maxAmounts(right, left));
      }),
    );
  });

  test('the maximum is at most the sum', () => {
    fc.assert(
      fc.property(amounts, amounts, (left, right) => {
        const sum = addAmounts(left, right);
        for (const [name, amount] of Object.entries(maxAmounts(left, right)))
          expect(amount).toBeLessThanOrEqual(sum[name] ?? 0);
      }),
    );
  });
});
