import { at } from '@dovetail/core-invariant';
import { uprooted } from '@dovetail/core-kube-model';
import { plan } from '@dovetail/core-scheduling';
import { describe, expect, test } from 'vitest';

import { runningCluster, type RunningNode } from '../testing/running.js';
import { consolidationCandidates } from './candidates.js';
import { partsOf } from './parts.js';

/** The parts of a plan that gives up all nodes but the last ones: their names, and new types. */
function shown(nodes: readonly RunningNode[], stay = 0): readonly string[] {
  const { views, eligibility, snapshot, options } = runningCluster(nodes);
  const { candidates } = consolidationCandidates(views, eligibility);
  const names = nodes.map((_node, index) => `n${String(index + 1)}`);
  const out = new Set(names.slice(0, names.length - stay));
  const going = candidates.filter(({ view }) => out.has(view.node.name));
  const pods = going.flatMap((candidate) => candidate.pods).map(uprooted);
  const left = { ...snapshot, nodes: snapshot.nodes.filter(({ name }) => !out.has(name)) };
  return partsOf(going, plan(left, pods, options)).map(
    ({ candidates: group, plan: { newNodes, placements, priceMicrosPerHour, stats } }) => {
      const from = group.map(({ view }) => view.node.name).toSorted();
      const to = [
        ...newNodes.map(({ options: [first] }) => first?.instanceType ?? ''),
        ...placements.map(({ nodeName }) => nodeName),
      ];
      return `${from.join(' ')} -> ${to.join(' ')}, ${String(priceMicrosPerHour)}, ${String(stats.pods)} pods`;
    },
  );
}

describe('the parts of a plan', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    [
      'hold nodes together whose pods share a new node',
      shown([
        { cores: 4, pods: [1000] },
        { cores: 4, pods: [900] },
      ]),
      ['n1 n2 -> m.2, 100000, 2 pods'],
    ],
    [
      'hold nodes apart whose pods share only nodes that stay',
      shown(
        [
          { cores: 2, pods: [1000] },
          { cores: 2, pods: [900] },
          { cores: 16, pods: [13_000] },
        ],
        1,
      ),
      ['n1 -> n3, 0, 1 pods', 'n2 -> n3, 0, 1 pods'],
    ],
  ])('%s', (_what, got, wanted) => expect(got.toSorted()).toEqual(wanted));

  test('keep the pods without a place', () => {
    const { views, eligibility, snapshot, options } = runningCluster([
      { cores: 4, pods: [1000] },
      { cores: 4, pods: [900] },
    ]);
    const { candidates } = consolidationCandidates(views, eligibility);
    const pods = candidates.flatMap((candidate) => candidate.pods).map(uprooted);
    const made = plan({ ...snapshot, nodes: [], pools: [] }, pods, options);
    const parts = partsOf(candidates, made);
    expect(parts.map(({ plan: { unplaced } }) => unplaced.length)).toEqual([1, 1]);
    expect(at(parts, 0).plan.bound.kind).toBe('none');
  });
});
