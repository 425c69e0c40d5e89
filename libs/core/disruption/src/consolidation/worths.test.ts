import { at } from '@dovetail/core-invariant';
import { describe, expect, test } from 'vitest';

import { runningCluster } from '../testing/running.js';
import { consolidationCandidates } from './candidates.js';
import { Worths } from './worths.js';

const { views, eligibility, snapshot, options } = runningCluster([
  { cores: 4, pods: [3000] },
  { cores: 4, pods: [100, 100] },
  { cores: 16, pods: [2000, 1000] },
]);
const { candidates } = consolidationCandidates(views, eligibility);
const worths = Worths.of(snapshot, candidates, options);
const namesOf = (some: typeof candidates): readonly string[] =>
  some.map(({ view }) => view.node.name);

describe('the worth of what nodes hold', () => {
  test('is what new nodes for it cost at least', () => {
    // A core costs 0.05 dollars an hour on every type.
    expect(worths.of({ cpu: 1000 })).toBeGreaterThan(49_000);
    expect(worths.of({ cpu: 1000 })).toBeLessThanOrEqual(55_000);
    expect(worths.used(at(candidates, 0))).toBeGreaterThan(0);
  });

  test('is nothing for what is never short', () => expect(worths.of({ other: 1 })).toBe(0));
});

describe('the order in which nodes go', () => {
  test('begins with the most money per disruption', () =>
    expect(namesOf(worths.goFirst(candidates))).toEqual(['n3', 'n1', 'n2']));

  test('begins with nodes that cost more than all they could hold', () => {
    const dear = candidates.map((candidate) =>
      candidate.view.node.name === 'n2' ? { ...candidate, priceMicrosPerHour: 250_000 } : candidate,
    );
    expect(namesOf(worths.goFirst(dear))).toEqual(['n2', 'n3', 'n1']);
  });
});
