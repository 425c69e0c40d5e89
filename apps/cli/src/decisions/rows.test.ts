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

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';

test.each([
  ['a pipe', undefined, [{ traceId }], 'TRACE'],
  ['a wide terminal', 200, [{ traceId }, {}], 'TRACE'],
  ['a narrow terminal', 120, [{ traceId }], 'REASONS'],
  ['decisions without traces', undefined, [{}], 'REASONS'],
])('the last column of %s is that of the traces, if there is one', (_what, width, more, last) => {
  const table = new Table(width === undefined ? {} : { width });
  const [head = '', row = ''] = table
    .lines(more.map((each) => ({ ...decision, ...each })))
    .split('\n');
  expect(head.trimEnd()).toMatch(new RegExp(`${last}$`));
  expect(row.includes(traceId)).toBe(last === 'TRACE');
});

test('a pipe gets every word', () =>
  expect(new Table().lines([decision])).toContain(decision.summary));
