import {
  type Pod,
  type PodAffinityTerm,
  requirementsOf,
  type TopologySpreadConstraint,
} from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import { GroupTable } from '../model/groups.js';
import { defaultPlanOptions } from '../options.js';
import type { ExistingNode } from '../snapshot.js';
import { nodeOf, podOf, poolOf, selecting, snapshotOf } from '../testing/objects.js';
import { familyTypes, mixedWorld } from '../testing/worlds.js';
import { registerRunning } from './standings.js';
import { worldOf } from './world.js';

const zone = 'topology.kubernetes.io/zone';
const host = 'kubernetes.io/hostname';
const web = (over: Partial<Pod> = {}): Partial<Pod> => ({ labels: { app: 'web' }, ...over });
const spread = (over: Partial<TopologySpreadConstraint> = {}): TopologySpreadConstraint => ({
  maxSkew: 1,
  topologyKey: zone,
  whenUnsatisfiable: 'DoNotSchedule',
  selector: selecting({ app: 'web' }),
  nodeAffinityPolicy: 'Honor',
  nodeTaintsPolicy: 'Ignore',
  ...over,
});
const apart = (topologyKey: string): PodAffinityTerm => ({
  topologyKey,
  selector: selecting({ app: 'web' }),
  namespaces: [],
});
const inZone = (value: string, over: Partial<ExistingNode> = {}): ExistingNode =>
  nodeOf(`n-${value}`, { labels: { [zone]: value }, ...over });

/** The standings of the one group of the pod `to-place`. */
function standing(
  nodes: readonly ExistingNode[],
  over: Partial<Pod> = { topologySpread: [spread()] },
) {
  const { groups, standings } = worldOf(
    snapshotOf({ nodes }),
    [podOf('to-place', web(over))],
    defaultPlanOptions,
  );
  const tallies = standings.ledger.of(groups.at(0));
  return {
    selected: Object.fromEntries([...tallies.tallies].map(([key, one]) => [key, one.selected])),
    carriers: Object.fromEntries([...tallies.tallies].map(([key, one]) => [key, one.carriers])),
    eligible: [...tallies.eligible].sort(),
    undecided: tallies.undecided,
    onHosts: nodes.map((node) => standings.hosts.get(node.uid)?.get(0)?.selected ?? 0),
  };
}

describe('what runs counts for a spread', () => {
  test.each<[string, Partial<ExistingNode>, number]>([
    ['each pod that it selects', { pods: [podOf('a', web()), podOf('b', web())] }, 2],
    ['a pod that is promised', { promisedPods: [podOf('a', web())] }, 1],
    ['a pod on a cordoned node', { cordoned: true, pods: [podOf('a', web())] }, 1],
    ['no other pod', { pods: [podOf('a', { labels: { app: 'db' } })] }, 0],
    ['no pod of another namespace', { pods: [podOf('a', web({ namespace: 'x' }))] }, 0],
    ['no pod that has ended', { pods: [podOf('a', web({ phase: 'Failed' }))] }, 0],
    ['no pod that is ending', { pods: [podOf('a', web({ deletionMs: 1 }))] }, 0],
    ['no pod that is to be placed', { pods: [podOf('to-place', web())] }, 0],
  ])('%s', (_what, over, count) => {
    expect(standing([inZone('a', over)]).selected['a'] ?? 0).toBe(count);
  });

  test('not on a node that its pods could not use', () => {
    const nodes = [
      inZone('a', { pods: [podOf('a', web())] }),
      inZone('b', { labels: { [zone]: 'b', disk: 'ssd' }, pods: [podOf('b', web())] }),
    ];
    const demanding = { nodeSelector: { disk: 'ssd' }, topologySpread: [spread()] };
    expect(standing(nodes, demanding)).toMatchObject({ selected: { a: 0, b: 1 }, eligible: ['b'] });
  });

  test('by host where it is over hosts', () => {
    const nodes = [inZone('a', { pods: [podOf('a', web())] }), inZone('b')];
    expect(standing(nodes, { topologySpread: [spread({ topologyKey: host })] })).toMatchObject({
      selected: {},
      onHosts: [1, 0],
    });
  });
});

describe('a node in flight that may be in one of two zones', () => {
  const inFlight = (over: Partial<ExistingNode>): ExistingNode =>
    nodeOf('n', {
      state: 'in-flight',
      requirements: requirementsOf([{ key: zone, operator: 'In', values: ['a', 'b'] }]),
      ...over,
    });
  test('counts in neither for a spread', () => {
    expect(standing([inFlight({ promisedPods: [podOf('a', web())] })])).toMatchObject({
      selected: {},
      eligible: [],
    });
  });
  test('counts in neither for affinity, and lets no pod start another zone', () => {
    const node = inFlight({ promisedPods: [podOf('a', web())] });
    expect(standing([node], { requiredPodAffinity: [apart(zone)] })).toMatchObject({
      selected: {},
      undecided: 1,
    });
    expect(standing([node], { requiredPodAffinity: [apart(host)] })).toMatchObject({
      undecided: 0,
      onHosts: [1],
    });
  });
  test('counts in both for anti-affinity', () => {
    expect(
      standing([inFlight({ promisedPods: [podOf('a', web())] })], {
        requiredPodAntiAffinity: [apart(zone)],
      }).selected,
    ).toEqual({ a: 1, b: 1 });
  });
});

describe('the anti-affinity of pods that run', () => {
  test.each(['pods', 'promisedPods'] as const)('is known, if it is required (%s)', (list) => {
    const running = podOf('run', { requiredPodAntiAffinity: [apart(zone)] });
    expect(standing([inZone('a', { [list]: [running] })], {})).toMatchObject({
      selected: { a: 0 },
      carriers: { a: 1 },
    });
  });

  test('is known until the pod is gone, though the pod counts for nothing else', () => {
    const ending = podOf('run', {
      ...web(),
      deletionMs: 1,
      requiredPodAntiAffinity: [apart(zone)],
    });
    expect(standing([inZone('a', { pods: [ending] })], {})).toMatchObject({
      selected: { a: 0 },
      carriers: { a: 1 },
    });
  });

  test('is not known, if it is only preferred', () => {
    const groups = new GroupTable([]);
    const preferred = [{ weight: 1, term: apart(zone) }];
    const pods = [podOf('run', { preferredPodAntiAffinity: preferred })];
    registerRunning(snapshotOf({ nodes: [inZone('a', { pods })] }), groups);
    expect(groups.groups).toEqual([]);
  });
});

test('a spread is over the zones of nodes and of what pools may launch', () => {
  const { groups, standings } = worldOf(
    snapshotOf({
      nodes: [inZone('elsewhere')],
      pools: [{ pool: poolOf('default'), instanceTypes: familyTypes() }],
    }),
    [podOf('to-place', { topologySpread: [spread()] })],
    defaultPlanOptions,
  );
  expect([...standings.ledger.of(groups.at(0)).eligible].sort()).toEqual([
    'elsewhere',
    'zone-a',
    'zone-b',
    'zone-c',
  ]);
});

test('no count is below zero in any generated world', () => {
  let counted = 0;
  for (let seed = 1; seed <= 40; seed += 1) {
    const { snapshot, pods, options } = mixedWorld(seed);
    const { ledger } = worldOf(snapshot, pods, options).standings;
    expect(ledger.neverNegative()).toBe(true);
    counted += ledger.domains.reduce((sum, { total }) => sum + total, 0);
  }
  expect(counted).toBeGreaterThan(0);
});
