import { describe, expect, test } from 'vitest';

import { runningCluster } from '../testing/running.js';
import { consolidationCandidates } from './candidates.js';
import { bestOf, priceOfAll, type Repacked, repacked } from './repacking.js';

const input = runningCluster([
  { cores: 4, pods: [1000] },
  { cores: 4, pods: [1000] },
  { cores: 4, pods: [1000] },
]);
const { candidates } = consolidationCandidates(input.views, input.eligibility);
const surroundings = { ...input, needsAll: false, takes: () => true };
const region = { candidates, rooms: [] };
const way = (price: number, moveCost: number): Repacked => {
  const made = repacked(region, 1, surroundings);
  if (made === undefined) throw new Error('the pods of one node fit on the others');
  return { ...made, price, moveCost };
};

describe('a region that is repacked', () => {
  test.each([
    [1, 400_000, 1, 0],
    [2, 200_000, 2, 0],
    [3, 200_000, 3, 1],
  ])('by giving up %d nodes costs %d, moves %d pods and buys %d nodes', (cut, ...wanted) => {
    const made = repacked(region, cut, surroundings);
    expect([made?.price, Math.round(made?.moveCost ?? 0), made?.plan.newNodes.length]).toEqual(
      wanted,
    );
  });

  test('is left as it is if a pod would have no place', () => {
    const closed = { ...surroundings, takes: () => false };
    const snapshot = { ...input.snapshot, pools: [] };
    expect(repacked(region, 1, { ...closed, snapshot })).toBeUndefined();
  });
});

describe('of several ways to repack', () => {
  const before = priceOfAll(candidates);

  test.each<[string, readonly Repacked[], number | undefined]>([
    ['none is taken that saves nothing', [way(before, 0)], undefined],
    ['none is taken that saves less than its moves cost', [way(before - 1_000, 1)], undefined],
    ['the cheaper one is taken', [way(300_000, 2), way(200_000, 2)], 200_000],
    [
      'one that moves far fewer pods is taken for a little more',
      [way(301_000, 10), way(300_000, 100)],
      301_000,
    ],
    [
      'one that moves a few pods more is taken for much less',
      [way(500_000, 10), way(300_000, 11)],
      300_000,
    ],
  ])('%s', (_what, ways, price) => expect(bestOf(ways, before, 1_000)?.price).toBe(price));
});
