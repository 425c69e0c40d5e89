import { expect, test } from 'vitest';

import { note } from './refusal.js';

test('a note writes its numbers as text, because notes travel', () =>
  expect(note('not-empty', '2 pods need this node', { pods: 2, first: 'default/a' })).toEqual({
    code: 'not-empty',
    message: '2 pods need this node',
    values: { pods: '2', first: 'default/a' },
  }));

test('a note may have no values', () =>
  expect(note('never-expires', 'expireAfter is Never').values).toEqual({}));
