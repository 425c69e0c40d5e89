import { expect, test } from 'vitest';

import { matchesSubject } from './subject-filter.js';

test.each([
  ['a.b', 'a.b', true],
  ['a.b', 'a.c', false],
  ['a.b', 'a.b.c', false],
  ['a.b.c', 'a.b', false],
  ['a.*', 'a.b', true],
  ['a.*', 'a.b.c', false],
  ['a.*', 'a', false],
  ['a.>', 'a.b.c', true],
  ['a.>', 'a', false],
  ['>', 'a', true],
  ['*.b.>', 'a.b.c', true],
])('the filter %s matches the subject %s: %s', (filter, subject, matches) => {
  expect(matchesSubject(filter, subject)).toBe(matches);
});
