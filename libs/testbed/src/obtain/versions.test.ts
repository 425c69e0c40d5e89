import { expect, test } from 'vitest';

import { isAtLeast } from './versions.js';

test.each([
  // version        wanted   enough
  ['2.11.0', '2.11', true],
  ['2.15.1', '2.11', true],
  ['v3.0.0', '2.11', true],
  ['2.12.0-RC.3', '2.11', true],
  ['2.9.10', '2.11', false],
  ['2', '2.11', false],
])('%s is at least %s: %s', (version, wanted, enough) => {
  expect(isAtLeast(version, wanted)).toBe(enough);
});
