import { annotations } from '@dovetail/core-api';
import { describe, expect, test } from 'vitest';

import { claim, node, nowMs, pod, pool, view } from '../testing/objects.js';
import { type Candidate, consolidationCandidates } from './candidates.js';
import { afterJudging, nextSize, prefixesOf, togetherInOrder } from './prefixes.js';

/** The sizes that are judged, if prefixes of up to `longest` of the nodes can go. */
function judged(nodes: number, longest: number): readonly number[] {
  const sizes: number[] = [];
  let search = prefixesOf(nodes);
  for (let size = nextSize(search); size !== undefined; size = nextSize(search)) {
    sizes.push(size);
    search = afterJudging(search, { size, canGo: size <= longest });
  }
  return sizes;
}

describe('the search for nodes that go together', () => {
  test.each<[string, number, number, readonly number[]]>([
    ['one node is not searched', 1, 1, []],
    ['two nodes are judged together', 2, 2, [2]],
    ['if all can go, the longer half is judged each time', 5, 5, [3, 4, 5]],
    ['if none can go, the shorter half is', 5, 0, [3, 2]],
  ])('%s', (_what, nodes, longest, sizes) => expect(judged(nodes, longest)).toEqual(sizes));

  test('finds the longest prefix of up to a hundred nodes in seven looks', () => {
    for (let nodes = 2; nodes <= 100; nodes += 1)
      for (let longest = 1; longest <= nodes; longest += 1) {
        const sizes = judged(nodes, longest);
        expect(sizes.length).toBeLessThanOrEqual(7);
        const found = Math.max(1, ...sizes.filter((size) => size <= longest));
        expect(found).toBe(longest);
      }
  });
});

/** Nodes of 0.10 dollars and more, each with one pod. The first has the lowest price. */
function running(count: number): readonly Candidate[] {
  const own = pool({
    disruption: { policy: 'WhenEmptyOrUnderutilized', consolidateAfterMs: 0, budgets: [] },
  });
  const views = Array.from({ length: count }, (_none, index) => {
    const id = String(index).padStart(3, '0');
    const price = `0.${String(100 + index)}`;
    return view({
      claim: claim(`c${id}`, { annotations: { [annotations.pricePerHour]: price } }),
      node: node(`n${id}`),
      pool: own,
      pods: [pod(`p${id}`)],
    });
  });
  const options = { budgetsOf: () => [], podOf: () => undefined, nowMs };
  return consolidationCandidates(views, options).candidates;
}

test.each<[string, number, number, number, string | undefined]>([
  ['begin with the dearest', 3, 3, 3, 'n002'],
  ['are as many as the budget allows', 3, 2, 2, 'n002'],
  ['are none without a budget', 3, 0, 0, undefined],
  ['are a hundred at most', 120, 120, 100, 'n119'],
])('the nodes that may go together %s', (_what, count, budget, length, first) => {
  const candidates = running(count);
  const all = togetherInOrder(candidates, new Map([['NodePool/default', budget]]));
  expect([all.length, all[0]?.view.node.name]).toEqual([length, first]);
});
