import type { Decision } from '@dovetail/contracts';
import { expect, test } from 'vitest';

import { Table } from './rows.js';

const decision: Decision = {
  id: 'admit/1',
  kind: 'unschedulable',
  atMs: 0,
  source: 'launcher',
  summary: `found no place for 1 pod: ${'the pod asks for more than any type has; '.repeat(4)}`,
  objects: [],
  reasons: [{ code: 'resources-too-large', message: 'too large', values: {} }],
  alternatives: [],
  facts: {},
};

test.each([300, 200, 140, 100, 80, 40, 20])(
  'on %i columns no line is longer than the terminal',
  (width) => {
    for (const line of new Table({ width }).lines([decision]).trimEnd().split('\n'))
      expect(line.length).toBeLessThanOrEqual(width);
  },
);

test('on a terminal the sentence shortens, and the reason stays', () =>
  expect(new Table({ width: 110 }).lines([decision])).toMatch(
    /unschedulable +- +found no place .*… +- +resources-too-large$/m,
  ));

test('a pipe gets every word', () =>
  expect(new Table().lines([decision])).toContain(decision.summary));
