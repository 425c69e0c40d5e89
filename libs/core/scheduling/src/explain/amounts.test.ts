import { expect, test } from 'vitest';

import { shownBeside } from './amounts.js';

const [Ki, Mi, Gi] = [1_024, 1_048_576, 1_073_741_824];

test.each([
  ['memory', 3_879_424 * Ki, 3_789 * Mi, '3788.5Mi'],
  ['memory', 4 * Gi, 3_789 * Mi, '4096Mi'],
  ['memory', 3_789 * Mi, 4 * Gi, '3.7Gi'],
  ['memory', 1, 4 * Gi, '1'],
  ['memory', 0, 4 * Gi, '0'],
  ['memory', -5, 4 * Gi, '0'],
  ['memory', 3_879_424 * Ki, 4e9, '3879424Ki'],
  ['memory', 2 * Gi, 4 * Gi, '2Gi'],
  ['cpu', 1_930, 2_000, '1930m'],
  ['pods', 29, 110, '29'],
])('%s of %d beside %d is shown as %s', (name, amount, other, text) => {
  expect(shownBeside(name, amount, other)).toBe(text);
});
