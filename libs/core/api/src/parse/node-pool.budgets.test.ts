import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { readBudgets } from './node-pool.js';

fc.configureGlobal({ seed: 1 });

const closedBy = (problem: RegExp): object => ({
  nodes: { count: 0 },
  problem: expect.stringMatching(problem),
});

describe('budgets', () => {
  test('without any, a tenth of the nodes may be disrupted', () =>
    expect(readBudgets(undefined, 'budgets')).toEqual([{ nodes: { percent: 10 } }]));

  test('an empty list is no budget at all', () => expect(readBudgets([], 'budgets')).toEqual([]));

  test.each(['101%', '-1', '5.5', 'all', '', '1000%', '2147483648', '9'.repeat(400)])(
    'of %j nodes are closed, not the pool',
    (nodes) =>
      expect(readBudgets([{ nodes }], 'budgets')).toEqual([closedBy(/^budgets\[0\]\.nodes is "/)]),
  );

  test.each<[string, object]>([
    ['0', { count: 0 }],
    ['5', { count: 5 }],
    ['1000', { count: 1000 }],
    ['2147483647', { count: 2_147_483_647 }],
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
    [
      'hours of another zone',
      { schedule: 'CRON_TZ=Asia/Tokyo 0 9 * * *', duration: '1h' },
      'schedule',
    ],
    ['a minute that does not exist', { schedule: '61 9 * * *', duration: '1h' }, 'schedule'],
    ['an unknown reason', { reasons: ['Expired'] }, 'reasons[0]'],
  ])('with %s are closed, with a remedy, and the others hold', (_name, wrong, field) =>
    expect(readBudgets([{ nodes: '5' }, { nodes: '1', ...wrong }], 'budgets')).toEqual([
      { nodes: { count: 5 } },
      closedBy(new RegExp(`^budgets\\[1\\]\\.${field.replace(/[[\]]/g, '\\$&')} is .+: .+`)),
    ]),
  );

  test('name the reasons of Karpenter 1.15', () => {
    const reasons = ['Underutilized', 'Empty', 'Drifted', 'Unhealthy'];
    expect(readBudgets([{ nodes: '1', reasons }], 'budgets')).toEqual([
      { nodes: { count: 1 }, reasons },
    ]);
  });

  test('are at most fifty', () => {
    const list = (length: number): object[] => Array.from({ length }, () => ({ nodes: '1' }));
    expect(readBudgets(list(50), 'budgets')).toHaveLength(50);
    expect(() => readBudgets(list(51), 'budgets')).toThrow('write at most 50 budgets');
  });
});
