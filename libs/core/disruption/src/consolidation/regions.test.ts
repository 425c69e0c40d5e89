import { describe, expect, test } from 'vitest';

import { runningCluster, type RunningNode } from '../testing/running.js';
import { consolidationCandidates } from './candidates.js';
import { cutsOf, regionsOf } from './regions.js';
import { Worths } from './worths.js';

const inputOf = (nodes: readonly RunningNode[]) => {
  const { views, eligibility, snapshot, options } = runningCluster(nodes);
  const { candidates } = consolidationCandidates(views, eligibility);
  return { candidates, snapshot, worths: Worths.of(snapshot, candidates, options) };
};
const many = (count: number, node: RunningNode): readonly RunningNode[] =>
  Array.from({ length: count }, () => node);
const allowing = (nodes: number) => new Map([['NodePool/default', nodes]]);

describe('regions', () => {
  test('are one for few nodes, and take all rooms', () => {
    const { candidates, snapshot } = inputOf(many(20, { cores: 4, pods: [1000] }));
    const regions = regionsOf(candidates, snapshot.nodes.slice(0, 3));
    expect(regions.map((region) => [region.candidates.length, region.rooms.length])).toEqual([
      [20, 3],
    ]);
  });

  test('hold each node once', () => {
    const { candidates, snapshot } = inputOf(many(150, { cores: 4, pods: [1000] }));
    const regions = regionsOf(candidates, snapshot.nodes);
    expect(regions).toHaveLength(4);
    expect(new Set(regions.flatMap((region) => region.candidates)).size).toBe(150);
    expect(new Set(regions.flatMap((region) => region.rooms)).size).toBe(150);
  });

  test('are none without candidates', () => expect(regionsOf([], [])).toEqual([]));
});

describe('the ways to repack a region', () => {
  const { candidates, worths } = inputOf(many(10, { cores: 4, pods: [1000] }));
  const region = { candidates: worths.goFirst(candidates), rooms: [] };

  test('give up more and more nodes, from those whose pods fit on the others up to all', () => {
    const cuts = cutsOf(region, worths, allowing(10));
    expect(cuts).toEqual(cuts.toSorted((a, b) => a - b));
    expect([cuts[0], cuts.at(-1)]).toEqual([7, 10]);
  });

  test('keep the budget of the pool', () =>
    expect(cutsOf(region, worths, allowing(2))).toEqual([2]));

  test('may give up more than that if it holds for each command alone', () =>
    expect(cutsOf(region, worths, allowing(2), 'each')).toEqual([2, 7, 8, 9, 10]));

  test('are none if nothing may go', () => expect(cutsOf(region, worths, allowing(0))).toEqual([]));

  test('are none but those that buy if all nodes are full', () => {
    const full = inputOf(many(4, { cores: 4, pods: [4000] }));
    const packed = { candidates: full.worths.goFirst(full.candidates), rooms: [] };
    expect(cutsOf(packed, full.worths, allowing(4))[0]).toBeGreaterThanOrEqual(1);
    expect(cutsOf(packed, full.worths, allowing(4)).at(-1)).toBe(4);
  });
});
