import { describe, expect, test } from 'vitest';

import { runningCluster } from '../testing/running.js';
import { consolidationCandidates } from './candidates.js';
import { bestOf, type Repacked, repacked } from './repacking.js';

const input = runningCluster([
  { cores: 4, pods: [1000] },
  { cores: 4, pods: [1000] },
  { cores: 4, pods: [1000] },
]);
const { candidates } = consolidationCandidates(input.views, input.eligibility);
const surroundings = { ...input, needsAll: false, takes: () => true, isAllowed: () => true };
const region = { candidates, rooms: [] };

describe('a region that is repacked', () => {
  test.each([
    ['one goes without its pod having to pay', 1, 0, { commands: 1, gain: 200_000, nodesIn: 0 }],
    ['two go', 2, 0, { commands: 2, gain: 400_000, nodesIn: 0 }],
    [
      'all go, and one smaller node is bought for them',
      3,
      0,
      { commands: 1, gain: 400_000, nodesIn: 1 },
    ],
    ['its pods have to pay', 2, 1_000, { commands: 2, gain: 397_900, nodesIn: 0 }],
  ])('gains what its parts save beyond their moves when %s', (_what, cut, cost, wanted) => {
    const rules = { ...input.rules, moveCostMicrosPerHour: cost };
    const { parts = [], gain = 0 } = repacked(region, cut, { ...surroundings, rules }) ?? {};
    const nodesIn = parts.reduce((sum, { plan }) => sum + plan.newNodes.length, 0);
    expect({ commands: parts.length, gain: Math.round(gain), nodesIn }).toEqual(wanted);
  });

  test('is left as it is if its moves cost more than it saves', () => {
    const rules = { ...input.rules, moveCostMicrosPerHour: 1_000_000 };
    expect(repacked(region, 1, { ...surroundings, rules })).toBeUndefined();
  });

  test('leaves out the parts that budgets do not allow', () => {
    const isAllowed = (group: readonly unknown[]): boolean => group.length === 1;
    expect(repacked(region, 2, { ...surroundings, isAllowed })?.parts).toHaveLength(2);
    expect(repacked(region, 3, { ...surroundings, isAllowed })).toBeUndefined();
  });

  test('is left as it is if a pod would have no place', () => {
    const closed = { ...surroundings, takes: () => false };
    const snapshot = { ...input.snapshot, pools: [] };
    expect(repacked(region, 1, { ...closed, snapshot })).toBeUndefined();
  });
});

test.each<[string, readonly (readonly [number, number])[], number | undefined]>([
  ['of no way to repack none is taken', [], undefined],
  [
    'of several ways the one that gains most is taken',
    [
      [1, 1],
      [3, 9],
      [2, 1],
    ],
    1,
  ],
  [
    'of two that gain as much the one that moves less is taken',
    [
      [3, 9],
      [3, 8],
    ],
    1,
  ],
])('%s', (_what, given, wanted) => {
  const ways = given.map(([gain, moveCost]): Repacked => ({ parts: [], gain, moveCost }));
  expect(bestOf(ways)).toBe(wanted === undefined ? undefined : ways[wanted]);
});
