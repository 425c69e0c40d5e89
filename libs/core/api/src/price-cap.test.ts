import { expect, test } from 'vitest';

import { annotations } from './names.js';
import { priceCapOf, priceCapText } from './price-cap.js';

test.each<[string, string | undefined, number | undefined]>([
  ['no cap', undefined, undefined],
  ['a cap of a micro-dollar', priceCapText(1), 1],
  ['a cap of 0.096 dollars', priceCapText(96_000), 96_000],
  ['the same, as a person writes it', '0.096', 96_000],
  ['a cap that cannot be read, on which nothing is bought', 'cheap', 0],
])('a claim has %s', (_what, text, cap) =>
  expect(
    priceCapOf({ annotations: text === undefined ? {} : { [annotations.maxPricePerHour]: text } }),
  ).toBe(cap),
);
