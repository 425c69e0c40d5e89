import type { Pod, PodAffinityTerm, TopologySpreadConstraint } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import { compose } from './compose/compose.js';
import { defaultPlanOptions, plan } from './index.js';
import { levelsOf } from './model/levels.js';
import { fakeTypes } from './testing/diverse.js';
import { podOf, podsOf, poolOf, selecting, snapshotOf } from './testing/objects.js';
import { worldOf } from './world/world.js';

const many = 3_000;
const listOf = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const mates = (index: number): PodAffinityTerm => ({
  topologyKey: `rack-${index}`,
  namespaces: [],
  selector: selecting({ app: 'none' }),
});
const weighted = (index: number) => ({ weight: 1 + (index % 100), term: mates(index) });
const spread = (
  topologyKey: string,
  whenUnsatisfiable: TopologySpreadConstraint['whenUnsatisfiable'],
): TopologySpreadConstraint => ({
  ...{ maxSkew: 1, topologyKey, whenUnsatisfiable, selector: selecting({ app: topologyKey }) },
  ...{ nodeAffinityPolicy: 'Honor', nodeTaintsPolicy: 'Ignore' },
});
const has = (key: string) => ({
  matchExpressions: [{ key, operator: 'Exists' as const, values: [] }],
  matchFields: [],
});

/** Pods with thousands of entries in one list. */
const large: Readonly<Record<string, Partial<Pod>>> = {
  'preferred pod affinity': { preferredPodAffinity: listOf(many, weighted) },
  'preferred pod anti-affinity': { preferredPodAntiAffinity: listOf(many, weighted) },
  'preferred node affinity': {
    preferredNodeAffinity: listOf(many, (index) => ({ weight: 1, term: has(`k${index}`) })),
  },
  'spread that may break': {
    topologySpread: listOf(many, (index) => spread(`rack-${index}`, 'ScheduleAnyway')),
  },
  'spread that must hold': {
    topologySpread: listOf(many, (index) => spread(`rack-${index}`, 'DoNotSchedule')),
  },
  'required pod affinity': { requiredPodAffinity: listOf(many, mates) },
  'required pod anti-affinity': { requiredPodAntiAffinity: listOf(many, mates) },
  'alternatives of node affinity': {
    requiredNodeAffinity: listOf(many, (index) => has(`k${index}`)),
  },
  'expressions of one alternative': {
    requiredNodeAffinity: [
      {
        matchExpressions: listOf(many, (index) => has(`k${index}`).matchExpressions).flat(),
        matchFields: [],
      },
    ],
  },
  'resource names': {
    requests: Object.fromEntries(listOf(many, (index) => [`example.com/r${index}`, 1])),
  },
  'node selector': { nodeSelector: Object.fromEntries(listOf(many, (i) => [`k${i}`, 'a'])) },
  volumes: { volumes: listOf(many, (index) => ({ claimName: `v${index}` })) },
  tolerations: {
    tolerations: listOf(many, (index) => ({ key: `k${index}`, operator: 'Exists' as const })),
  },
  'host ports': {
    hostPorts: listOf(many, (index) => ({ ip: '0.0.0.0', port: index + 1, protocol: 'TCP' })),
  },
};

const snapshot = snapshotOf({ pools: [{ pool: poolOf('default'), instanceTypes: fakeTypes(40) }] });
const others = podsOf('other', 30, { requests: { cpu: 900 } });
const placedBeside = (pods: readonly Pod[]): readonly (readonly string[])[] =>
  plan(snapshot, [...others, ...pods], defaultPlanOptions).newNodes.map(({ podUids }) =>
    podUids.filter((uid) => uid !== 'large'),
  );

describe('a pod with thousands of entries in a list', () => {
  test.each(Object.keys(large))('leaves other pods where they would be: %s', (list) => {
    const placed = placedBeside([podOf('large', large[list] ?? {})]).flat();
    expect(placed.toSorted()).toEqual(others.map(({ uid }) => uid).toSorted());
  });

  test.each([
    ...['spread that must hold', 'required pod affinity', 'required pod anti-affinity'],
    ...['alternatives of node affinity', 'expressions of one alternative', 'resource names'],
    ...['node selector', 'volumes'],
  ])('is told that it has too many terms: %s', (list) => {
    const made = plan(snapshot, [...others, podOf('large', large[list] ?? {})], defaultPlanOptions);
    expect(made.unplaced.map(({ podUid, reasons }) => [podUid, reasons[0]?.code])).toEqual([
      ['large', 'too-many-terms'],
    ]);
    expect(made.unplaced[0]?.reasons[0]?.values).toMatchObject({ max: '256' });
  });

  test.each(['preferred pod affinity', 'spread that may break', 'tolerations', 'host ports'])(
    'is placed all the same: %s',
    (list) => {
      const pod = podOf('large', large[list] ?? {});
      expect(plan(snapshot, [pod], defaultPlanOptions).unplaced).toEqual([]);
    },
  );
});

/** The entries of all lists of all levels, which planning reads one by one. */
const entriesOf = (pod: Pod): number =>
  levelsOf(pod, { preferences: 'Respect', taintPreferences: false }).reduce(
    (sum, { affinity, antiAffinity, spread: rules }) =>
      sum + affinity.length + antiAffinity.length + rules.length + 1,
    0,
  );

test.each<[string, (count: number) => Partial<Pod>]>([
  ['pod affinity', (count) => ({ preferredPodAffinity: listOf(count, weighted) })],
  ['pod anti-affinity', (count) => ({ preferredPodAntiAffinity: listOf(count, weighted) })],
  [
    'node affinity',
    (count) => ({
      preferredNodeAffinity: listOf(count, (index) => ({ weight: 1, term: has(`k${index}`) })),
    }),
  ],
  [
    'spread',
    (count) => ({ topologySpread: listOf(count, (i) => spread(`rack-${i}`, 'ScheduleAnyway')) }),
  ],
])('the levels of preferred %s grow no faster than their number', (_list, over) => {
  const [some, more] = [50, 200].map((count) => entriesOf(podOf('p', over(count))));
  expect(more).toBeLessThanOrEqual(4 * (some ?? 0));
  expect(entriesOf(podOf('p', over(20_000)))).toBe(entriesOf(podOf('p', over(256))));
});

test('rules over many labels of nodes are planned with a few forms of a node', () => {
  const keys = ['topology.kubernetes.io/zone', 'karpenter.sh/capacity-type'];
  const formsOf = (names: readonly string[]): number => {
    const pod = podOf('p', { topologySpread: names.map((key) => spread(key, 'DoNotSchedule')) });
    const world = worldOf(snapshot, [pod], defaultPlanOptions);
    expect(compose(world).left).toEqual([0]);
    return world.states.states.length;
  };
  const few = formsOf(keys);
  const more = formsOf([...keys, 'node.kubernetes.io/instance-type', 'kubernetes.io/arch']);
  expect(more - few).toBeLessThan(4 * 32);
});
