import { expect, test } from 'vitest';

import { assert, InvariantError } from './assert.js';

test('a law that is broken ends with an InvariantError that names the law', () => {
  const broken = (): void => assert(false, 'each pod is placed once');
  expect(broken).toThrow(InvariantError);
  expect(broken).toThrow('each pod is placed once');
});

test('an InvariantError is told apart by its name in a log', () =>
  expect(String(new InvariantError('each pod is placed once'))).toBe(
    'InvariantError: each pod is placed once',
  ));

test('a law that holds changes nothing', () => {
  expect(() => assert(true, 'one is one')).not.toThrow();
});
