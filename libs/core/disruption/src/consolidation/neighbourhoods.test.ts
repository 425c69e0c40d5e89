import { describe, expect, test } from 'vitest';

import { runningCluster } from '../testing/running.js';
import { consolidationCandidates } from './candidates.js';
import { neighbourhoodsOf, pricePerUsed, worstFirst } from './neighbourhoods.js';

const { views, eligibility } = runningCluster([
  { cores: 4, pods: [4000] },
  { cores: 4, pods: [1000] },
  { cores: 16, pods: [2000] },
]);
const { candidates } = consolidationCandidates(views, eligibility);
const namesOf = (group: typeof candidates): string =>
  group.map(({ view }) => view.node.name).join(' ');

describe('the groups of nodes to try', () => {
  test('come with the worst price per used core first', () => {
    expect(namesOf(worstFirst(candidates))).toBe('n3 n2 n1');
    expect(worstFirst(candidates).map((each) => Math.round(pricePerUsed(each)))).toEqual([
      400, 200, 50,
    ]);
  });

  test('are runs of every size, each once, and the same for the same seed', () => {
    const groups = neighbourhoodsOf(candidates, 1).map(namesOf);
    expect(groups[0]).toBe('n3 n2 n1');
    for (const name of ['n1', 'n2', 'n3']) expect(groups).toContain(name);
    const sets = groups.map((group) => group.split(' ').sort().join(' '));
    expect(new Set(sets).size).toBe(sets.length);
    expect(neighbourhoodsOf(candidates, 1).map(namesOf)).toEqual(groups);
  });

  test('are none without nodes', () => expect(neighbourhoodsOf([], 1)).toEqual([]));
});
