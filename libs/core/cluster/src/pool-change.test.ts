import { poolValue } from '@dovetail/core-api/testing';
import { expect, test } from 'vitest';

import { isStatusChange } from './pool-change.js';

const before = poolValue('default');

test.each([
  ['a first reading', { after: before }, false],
  ['an end', { before }, false],
  ['a spec', { before, after: { ...before, generation: before.generation + 1 } }, false],
  ['a deletion', { before, after: { ...before, deletionMs: 1 } }, false],
  ['a readiness', { before, after: { ...before, ready: !before.ready } }, true],
])('%s of a pool changes its status alone: %s', (_, change, expected) =>
  expect(isStatusChange(change)).toBe(expected),
);
