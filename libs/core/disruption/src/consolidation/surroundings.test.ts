import { describe, expect, test } from 'vitest';

import { runningCluster, underusedPool } from '../testing/running.js';
import { consolidationCandidates } from './candidates.js';
import { needsAllNodes, without } from './surroundings.js';

const nodes = [
  { cores: 4, pods: [1000] },
  { cores: 4, pods: [1000] },
] as const;
const { snapshot, views, eligibility } = runningCluster(nodes);
const spread = {
  maxSkew: 1,
  topologyKey: 'topology.kubernetes.io/zone',
  whenUnsatisfiable: 'DoNotSchedule',
  nodeAffinityPolicy: 'Honor',
  nodeTaintsPolicy: 'Ignore',
} as const;

describe('plans of a search', () => {
  test.each<[string, boolean, boolean]>([
    ['need not see all nodes of a cluster without rules', needsAllNodes(snapshot), false],
    [
      'see all nodes if pods spread',
      needsAllNodes(
        runningCluster(nodes.map((node) => ({ ...node, over: { topologySpread: [spread] } })))
          .snapshot,
      ),
      true,
    ],
    [
      'see all nodes if the pool has a limit',
      needsAllNodes(runningCluster(nodes, { ...underusedPool(), limits: { cpu: 1000 } }).snapshot),
      true,
    ],
  ])('%s', (_what, got, wanted) => expect(got).toBe(wanted));

  const group = consolidationCandidates(views, eligibility).candidates.slice(0, 1);
  test.each([
    ['leave out the nodes that go, and those that are closed', false, []],
    [
      'keep both if rules count pods over nodes: drained, and closed',
      true,
      [
        [true, 0],
        [true, 1],
      ],
    ],
  ])('%s', (_what, needsAll, wanted) =>
    expect(
      without(snapshot, group, { isOpen: () => false, needsAll }).nodes.map(
        ({ cordoned, pods }) => [cordoned, pods.length],
      ),
    ).toEqual(wanted),
  );
});
