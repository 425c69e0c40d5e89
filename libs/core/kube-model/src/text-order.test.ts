import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { compareText } from './text-order.js';

fc.configureGlobal({ seed: 1 });

const anyText = fc.string({ maxLength: 3 });

test.each([
  ['a', 'a', 0],
  ['a', 'b', -1],
  ['b', 'a', 1],
  ['', 'a', -1],
  ['B', 'a', -1],
  ['a10', 'a9', -1],
  ['z', 'ä', -1],
])('%j against %j is %d', (a, b, order) => expect(compareText(a, b)).toBe(order));

describe('the order is total', () => {
  test('equal only for equal texts, and opposite when turned round', () =>
    fc.assert(
      fc.property(anyText, anyText, (a, b) => {
        expect(compareText(a, b) === 0).toBe(a === b);
        expect(compareText(b, a) + compareText(a, b)).toBe(0);
      }),
    ));

  test('the same as the order of a plain sort, which is what manifests are written in', () =>
    fc.assert(
      fc.property(fc.array(anyText), (texts) => {
        expect(texts.toSorted(compareText)).toEqual(texts.toSorted());
      }),
    ));
});
