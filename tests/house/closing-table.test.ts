import { closingTables } from '@dovetail/tools/closing-table';
import { describe, expect, test } from 'vitest';

/**
 * `make test` closes with tables made of test names. These names have the form of the suites' own.
 */
const result = (suite: string, title: string, status = 'passed') => ({ suite, title, status });
const text: string = closingTables([
  result('scenario inflate-memory on the twin world', 'one node'),
  result('scenario inflate-memory on the real world', 'one node', 'failed'),
  result('scenario inflate-memory on the real world', 'columns'),
  result(
    'faults in the middle of a scale-up of 300 pods and of the scale-down, on the real world',
    'kill launcher, cycle 0: every pod runs',
  ),
  result(
    'faults in the middle of a scale-up of 300 pods and of the scale-down, on the real world',
    'kill launcher, cycle 1: every pod runs',
    'failed',
  ),
  result(
    'faults in the middle of a scale-up of 300 pods and of the scale-down, on the real world',
    'purge all streams, cycle 0: every pod runs',
  ),
  result(
    'tight plans with placement bind on the real world',
    'trial 1: every pod is on its planned node',
  ),
  result(
    'tight plans with placement bind on the real world',
    'trial 4: every pod is on its planned node',
  ),
  result(
    '',
    'definitions that are not installed yet are missed by name, on the twin world, and everything works once they are',
  ),
  result('the linter', 'refuses an import'),
  result(
    'tight plans with placement bind on the real world',
    'trial 2: every pod is on its planned node',
    'failed',
  ),
  // The second run of a failed test counts, and the table marks it.
  result('scenario inflate-memory on the real world', 'one node'),
  result(
    'tight plans with placement bind on the real world',
    'trial 2: every pod is on its planned node',
  ),
]);

describe('the closing tables', () => {
  test.each([
    [
      'scenarios by world',
      /scenario inflate-memory +1 of 1 +2 of 2 \(1 only at the second run\)\n/,
    ],
    [
      'a test whose own name says its world',
      /definitions that are not installed yet are missed by name +1 of 1 +-\n/,
    ],
    [
      'faults tried and survived, two moments a cycle',
      /kill launcher +4 +2\n[^]*purge all streams +2 +2\n/,
    ],
    [
      'placement trials',
      /tight plans with placement bind on the real world +3 +3 of 3 \(1 only at the second run\): every pod is on its planned node\n/,
    ],
  ])('show %s', (_what, row) => expect(text).toMatch(row));
  test('leave out what has no world', () => expect(text).not.toContain('linter'));
  test('are nothing when nothing ran', () => expect(closingTables([])).toBe(''));
});
