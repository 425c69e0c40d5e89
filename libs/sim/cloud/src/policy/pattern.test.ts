import { expect, test } from 'vitest';

import { matches } from './pattern.js';

test.each([
  ['', '', true],
  ['', 'a', false],
  ['*', '', true],
  ['a*', 'a', true],
  ['*b', 'aab', true],
  ['*b', 'aba', false],
  ['a*b*c', 'a-b-b-c', true],
  ['a*b*c', 'a-c-b', false],
  ['a?c', 'abc', true],
  ['a?c', 'ac', false],
  ['a.c', 'abc', false],
  ['*aab', 'aaaab', true],
  ['a?', 'a*', true],
])('the pattern %j against %j: %j', (pattern, text, expected) => {
  expect(matches(pattern, text)).toBe(expected);
});
