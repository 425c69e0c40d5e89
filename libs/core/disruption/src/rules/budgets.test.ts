import type { DisruptionBudget } from '@dovetail/core-api';
import fc from 'fast-check';
import { expect, test } from 'vitest';

import { allowedDisruptions } from './budgets.js';

fc.configureGlobal({ seed: 1 });

const noon = Date.UTC(2026, 10, 21, 12);
const percent = (value: number, more: Partial<DisruptionBudget> = {}): DisruptionBudget => ({
  nodes: { percent: value },
  ...more,
});
const count = (value: number, more: Partial<DisruptionBudget> = {}): DisruptionBudget => ({
  nodes: { count: value },
  ...more,
});
const morning = { cron: '0 9 * * *', durationMs: 3_600_000 };
const midday = { cron: '0 12 * * *', durationMs: 3_600_000 };

test.each([
  // what                                        budgets
  // nodes  disrupted  allowed
  ['ten percent of five rounds up', [percent(10)], 5, 0, 1],
  ['ten percent of eleven rounds up', [percent(10)], 11, 0, 2],
  ['nodes that are disrupted use it up', [percent(10)], 5, 1, 0],
  ['it never goes below zero', [count(1)], 5, 3, 0],
  ['the least of several', [percent(50), count(1)], 10, 0, 1],
  ['none: all that are left', [], 5, 2, 3],
  ['zero freezes', [count(0)], 5, 0, 0],
  ['one for another reason does not bind', [count(0, { reasons: ['Drifted'] })], 5, 0, 5],
  ['one for this reason binds', [count(2, { reasons: ['Empty', 'Drifted'] })], 5, 0, 2],
  ['a window that is over does not bind', [count(0, { schedule: morning })], 5, 0, 5],
  ['a window that is open binds', [count(0, { schedule: midday })], 5, 0, 0],
  [
    'a schedule that cannot be read: none',
    [count(3, { schedule: { cron: 'bad', durationMs: 1 } })],
    5,
    0,
    0,
  ],
  ['one that cannot be read: none', [{ ...count(0), problem: 'nodes is "all"' }], 5, 0, 0],
] as const)('%s', (_what, budgets, nodes, disrupted, allowed) =>
  expect(allowedDisruptions(budgets, 'Empty', { nodes, disrupted }, noon).allowed).toBe(allowed),
);

test('what holds back is named with the numbers', () => {
  expect(
    allowedDisruptions([percent(10)], 'Empty', { nodes: 5, disrupted: 1 }, noon).note,
  ).toMatchObject({ code: 'budget-spent', values: { budget: '10%', nodes: '5', disrupted: '1' } });
  expect(
    allowedDisruptions(
      [count(3, { schedule: { cron: '61 * * * *', durationMs: 1 } })],
      'Empty',
      { nodes: 5, disrupted: 0 },
      noon,
    ).note?.code,
  ).toBe('budget-invalid');
});

test('nodes that are disrupted never raise what is allowed, and it is never below zero', () =>
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          fc.nat({ max: 100 }).map((value) => percent(value)),
          fc.nat({ max: 20 }).map((value) => count(value)),
        ),
      ),
      fc.integer({ min: 1, max: 50 }),
      fc.nat({ max: 50 }),
      (budgets, healthy, disrupted) => {
        const allowed = (more: number): number =>
          allowedDisruptions(
            budgets,
            'Empty',
            { nodes: disrupted + healthy, disrupted: disrupted + more },
            noon,
          ).allowed;
        expect(allowed(0)).toBeGreaterThanOrEqual(0);
        expect(allowed(1)).toBeLessThanOrEqual(allowed(0));
      },
    ),
  ));

test('the least of several budgets does not depend on their order', () =>
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 20 }).map((value) => count(value))), (budgets) => {
      const census = { nodes: 10, disrupted: 1 };
      expect(allowedDisruptions(budgets.toReversed(), 'Empty', census, noon).allowed).toBe(
        allowedDisruptions(budgets, 'Empty', census, noon).allowed,
      );
    }),
  ));

test('more disrupted nodes than nodes is a bug of the caller', () =>
  expect(() => allowedDisruptions([], 'Empty', { nodes: 1, disrupted: 2 }, noon)).toThrow(
    'the disrupted nodes of a pool are among its nodes',
  ));
