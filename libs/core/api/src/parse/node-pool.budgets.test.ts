import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { readBudgets } from './node-pool.js';

fc.configureGlobal({ seed: 1 });

describe('budgets', () => {
  test('without any, a tenth of the nodes may be disrupted', () =>
    expect(readBudgets(undefined, 'budgets')).toEqual([{ nodes: { percent: 10 } }]));

  test('an empty list is no budget at all', () => expect(readBudgets([], 'budgets')).toEqual([]));

  test.each(['101%', '-1', '5.5', 'all', '', '1000%'])('of %j nodes are refused', (nodes) =>
    expect(() => readBudgets([{ nodes }], 'budgets')).toThrow('budgets[0].nodes: '),
  );

  test.each<[string, object]>([
    ['0', { count: 0 }],
    ['5', { count: 5 }],
    ['1000', { count: 1000 }],
    ['0%', { percent: 0 }],
    ['100%', { percent: 100 }],
  ])('of %j nodes are %j', (nodes, read) =>
    expect(readBudgets([{ nodes }], 'budgets')[0]?.nodes).toEqual(read),
  );

  test.each<[string, object, string]>([
    ['a window without a schedule', { duration: '1h' }, 'schedule'],
    ['a schedule without a window', { schedule: '@daily' }, 'duration'],
    ['four fields', { schedule: '0 9 * *', duration: '1h' }, 'schedule'],
    ['an unknown word', { schedule: '@noon', duration: '1h' }, 'schedule'],
    ['a window in seconds', { schedule: '@daily', duration: '90s' }, 'duration'],
    ['an unknown reason', { reasons: ['Expired'] }, 'reasons[0]'],
  ])('with %s are refused', (_name, budget, field) =>
    expect(() => readBudgets([{ nodes: '1', ...budget }], 'budgets')).toThrow(
      `budgets[0].${field}: `,
    ),
  );

  test('are at most fifty', () => {
    const list = (length: number): object[] => Array.from({ length }, () => ({ nodes: '1' }));
    expect(readBudgets(list(50), 'budgets')).toHaveLength(50);
    expect(() => readBudgets(list(51), 'budgets')).toThrow('write at most 50 budgets');
  });
});
