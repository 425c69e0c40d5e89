import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { parseMillis } from '../model/quantity.js';
import { canonicalQuantity } from './canonical-quantity.js';

describe('the canonical text of a quantity', () => {
  test.each([
    ['1024Mi', '1Gi'],
    ['0.5', '500m'],
    ['1000', '1k'],
    ['1500m', '1500m'],
    ['1.5Gi', '1536Mi'],
    ['1e3', '1e3'],
    ['0Gi', '0'],
    ['-0.5', '-500m'],
  ])('%s becomes %s', (text, canonical) => {
    expect(canonicalQuantity(text)).toBe(canonical);
  });

  test.each(['', '.', 'Gi', '1KB', 'one'])('%j is no quantity', (text) => {
    expect(canonicalQuantity(text)).toBeUndefined();
  });

  const quantity = fc
    .tuple(fc.nat(1_000_000), fc.constantFrom('', 'm', 'k', 'M', 'Ki', 'Mi'))
    .map(([number, suffix]) => `${number}${suffix}`);

  test('is canonical itself and means the same amount', () => {
    fc.assert(
      fc.property(quantity, (text) => {
        const canonical = canonicalQuantity(text) ?? '';
        expect(canonicalQuantity(canonical)).toBe(canonical);
        expect(parseMillis(canonical)).toBe(parseMillis(text));
      }),
    );
  });
});
