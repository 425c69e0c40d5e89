import type {
  LabelSelector,
  Namespace,
  Pod,
  PodAffinityTerm,
  TopologySpreadConstraint,
} from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import { podOf, selecting } from '../testing/objects.js';
import { groupSelects, GroupTable, namespacesOf } from './groups.js';

const namespaceOf = (name: string, labels: Readonly<Record<string, string>>): Namespace => ({
  uid: `ns-${name}`,
  name,
  resourceVersion: '1',
  labels,
});
const namespaces = [
  namespaceOf('default', {}),
  namespaceOf('blue-1', { team: 'blue' }),
  namespaceOf('blue-2', { team: 'blue' }),
];
const web = selecting({ app: 'web' });
const everything: LabelSelector = { requirements: [] };

const spread: TopologySpreadConstraint = {
  maxSkew: 1,
  topologyKey: 'zone',
  whenUnsatisfiable: 'DoNotSchedule',
  selector: web,
  nodeAffinityPolicy: 'Honor',
  nodeTaintsPolicy: 'Ignore',
};
const term: PodAffinityTerm = { topologyKey: 'zone', selector: web, namespaces: [] };
const inZone = (...values: readonly string[]): Partial<Pod> => ({
  requiredNodeAffinity: [
    { matchExpressions: [{ key: 'zone', operator: 'In', values }], matchFields: [] },
  ],
});

describe('a spread constraint', () => {
  type Side = readonly [Partial<Pod>, Partial<TopologySpreadConstraint>];
  const same = (a: Side, b: Side): boolean => {
    const table = new GroupTable(namespaces);
    const [first, second] = [a, b].map(([pod, over]) =>
      table.spread(podOf('p', pod), { ...spread, ...over }),
    );
    expect(table.groups).toHaveLength(first === second ? 1 : 2);
    return first === second;
  };
  const tolerant: Partial<Pod> = { tolerations: [{ operator: 'Exists' }] };
  const several = (values: readonly string[]): LabelSelector => ({
    requirements: [{ key: 'app', operator: 'In', values }],
  });

  test.each<[string, Side, Side]>([
    ['whatever the labels of the pods', [{ labels: { app: 'a' } }, {}], [{}, {}]],
    [
      'whatever the order of values',
      [{}, { selector: several(['a', 'b']) }],
      [{}, { selector: several(['b', 'a']) }],
    ],
    ['whatever the tolerations, while it ignores taints', [tolerant, {}], [{}, {}]],
    [
      'whatever the node affinity, where it ignores that',
      [inZone('a'), { nodeAffinityPolicy: 'Ignore' }],
      [{}, { nodeAffinityPolicy: 'Ignore' }],
    ],
    ['where a minimum of one domain is said or not', [{}, { minDomains: 1 }], [{}, {}]],
  ])('is one group %s', (_what, a, b) => {
    expect(same(a, b)).toBe(true);
  });

  test.each<[string, Side, Side]>([
    ['another key', [{}, {}], [{}, { topologyKey: 'rack' }]],
    ['another namespace', [{}, {}], [{ namespace: 'blue-1' }, {}]],
    ['another selector', [{}, {}], [{}, { selector: selecting({ app: 'db' }) }]],
    ['an empty selector', [{}, {}], [{}, { selector: everything }]],
    ['another skew', [{}, {}], [{}, { maxSkew: 2 }]],
    ['another minimum of domains', [{}, {}], [{}, { minDomains: 2 }]],
    ['a preference', [{}, {}], [{}, { whenUnsatisfiable: 'ScheduleAnyway' }]],
    ['other node affinity', [{}, {}], [inZone('a'), {}]],
    ['another node selector', [{}, {}], [{ nodeSelector: { disk: 'ssd' } }, {}]],
    [
      'other tolerations, where it honors taints',
      [{}, { nodeTaintsPolicy: 'Honor' }],
      [tolerant, { nodeTaintsPolicy: 'Honor' }],
    ],
  ])('is another group with %s', (_what, a, b) => {
    expect(same(a, b)).toBe(false);
  });

  test('counts nodes that its pod’s selector and one of its terms admit', () => {
    const pod = podOf('p', { nodeSelector: { disk: 'ssd' }, ...inZone('a') });
    const { filter } = new GroupTable([]).spread(pod, spread);
    expect(filter.alternatives?.map((one) => [...one.keys()])).toEqual([['disk', 'zone']]);
    expect(filter.tolerations).toBeUndefined();
  });

  test('counts every node, if its pod demands nothing and taints are ignored', () => {
    expect(new GroupTable([]).spread(podOf('p'), spread).filter).toEqual({});
  });

  test.each([
    ['kubernetes.io/hostname', true],
    ['zone', false],
  ])('over %s is by host: %s', (topologyKey, onHost) => {
    expect(new GroupTable([]).spread(podOf('p'), { ...spread, topologyKey }).onHost).toBe(onHost);
  });
});

describe('a term of pod affinity', () => {
  const table = new GroupTable(namespaces);
  const required = table.affinity(podOf('p'), term, { kind: 'affinity', hard: true });
  test.each<[string, Parameters<GroupTable['affinity']>]>([
    ['anti-affinity', [podOf('p'), term, { kind: 'anti', hard: true }]],
    ['a preference', [podOf('p'), term, { kind: 'affinity', hard: false }]],
    [
      'another namespace',
      [podOf('p', { namespace: 'blue-1' }), term, { kind: 'affinity', hard: true }],
    ],
  ])('is another group than %s', (_what, other) => {
    expect(table.affinity(...other)).not.toBe(required);
  });

  test('is one group, whether it means its own namespace or names it', () => {
    const named = { ...term, namespaces: ['default'] };
    expect(table.affinity(podOf('p'), named, { kind: 'affinity', hard: true })).toBe(required);
  });
});

describe('the namespaces of a term', () => {
  test.each<[string, Partial<PodAffinityTerm>, readonly string[]]>([
    ["are the pod's own, if it says none", {}, ['own']],
    ['are those that it lists', { namespaces: ['x', 'y'] }, ['x', 'y']],
    [
      'are those that it selects',
      { namespaceSelector: selecting({ team: 'blue' }) },
      ['blue-1', 'blue-2'],
    ],
    [
      'are those that it lists and those that it selects, each once',
      { namespaces: ['x', 'blue-1'], namespaceSelector: selecting({ team: 'blue' }) },
      ['x', 'blue-1', 'blue-2'],
    ],
    [
      'are all, if it selects by an empty selector',
      { namespaceSelector: everything },
      ['default', 'blue-1', 'blue-2'],
    ],
    ['are none, if it selects none', { namespaceSelector: selecting({ team: 'red' }) }, []],
  ])('%s', (_what, over, expected) => {
    expect([...namespacesOf({ ...term, ...over }, 'own', namespaces)]).toEqual(expected);
  });
});

describe('a group selects a pod', () => {
  const group = new GroupTable(namespaces).spread(podOf('p'), spread);
  test.each<[string, Parameters<typeof groupSelects>[1], boolean]>([
    ['of its namespace with its labels', { namespace: 'default', labels: { app: 'web' } }, true],
    ['not of another namespace', { namespace: 'blue-1', labels: { app: 'web' } }, false],
    ['not with other labels', { namespace: 'default', labels: { app: 'db' } }, false],
    ['not without labels', { namespace: 'default', labels: {} }, false],
  ])('%s', (_what, pod, selects) => {
    expect(groupSelects(group, pod)).toBe(selects);
  });

  test('never, without a selector', () => {
    const { selector: _, ...constraint } = spread;
    const silent = new GroupTable([]).spread(podOf('p'), constraint);
    expect(groupSelects(silent, { namespace: 'default', labels: {} })).toBe(false);
  });
});

test('a group is found by its id; an id of another plan is an error', () => {
  const table = new GroupTable(namespaces);
  const group = table.spread(podOf('p'), spread);
  expect(table.at(group.id)).toBe(group);
  expect(() => table.at(7)).toThrow('topology group 7 is unknown to this plan');
});
