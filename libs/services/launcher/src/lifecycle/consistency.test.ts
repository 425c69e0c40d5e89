import { describe, expect, test } from 'vitest';

import { consistencyIssues, consistencyOf } from './consistency.js';

const gib = 2 ** 30;
const bought = {
  requests: { cpu: 500, memory: gib, pods: 1 },
  capacity: { cpu: 4_000, memory: 16 * gib, pods: 58, 'nvidia.com/gpu': 1 },
};
const issues = (capacity: Readonly<Record<string, number>>): readonly string[] =>
  consistencyIssues(bought, { capacity: { ...bought.capacity, ...capacity } });

describe('a node', () => {
  test.each([
    ['has less than 90 % of a resource', { cpu: 3_599 }, ['cpu']],
    ['has none of a resource', { memory: 0 }, ['memory']],
    ['lacks several resources', { pods: 10, cpu: 2_000 }, ['cpu', 'pods']],
  ])('that %s is not what was bought', (_what, capacity, resources) =>
    expect(issues(capacity).map((issue) => / of resource (\S+),/.exec(issue)?.[1])).toEqual(
      resources,
    ),
  );

  test.each([
    ['has what was expected', {}],
    ['has exactly 90 %', { cpu: 3_600 }],
    ['has more', { memory: 17 * gib }],
    ['lacks a resource that its claim does not request', { 'nvidia.com/gpu': 0 }],
  ])('that %s is consistent', (_what, capacity) => expect(issues(capacity)).toEqual([]));

  test('is not compared in a resource whose capacity was not known', () =>
    expect(
      consistencyIssues({ ...bought, capacity: {} }, { capacity: { cpu: 1, memory: 1, pods: 1 } }),
    ).toEqual([]));

  test("is told of in Karpenter's words", () =>
    expect(issues({ memory: 8 * gib })).toEqual([
      'expected 16Gi of resource memory, but found 8Gi (50.0% of expected)',
    ]));
});

test("a failed check makes the condition False with Karpenter's reason", () => {
  expect(consistencyOf(['too small'])).toMatchObject({
    type: 'ConsistentStateFound',
    status: 'False',
    reason: 'ConsistencyCheckFailed',
  });
  expect(consistencyOf([])).toMatchObject({ type: 'ConsistentStateFound', status: 'True' });
});
