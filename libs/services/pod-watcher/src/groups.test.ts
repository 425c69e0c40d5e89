import { poolValue } from '@dovetail/core-api/testing';
import type { LabelSelector, Namespace, Pod, PodAffinityTerm } from '@dovetail/core-kube-model';
import { podValue } from '@dovetail/core-kube-model/testing';
import { describe, expect, test } from 'vitest';

import { groupsOf } from './groups.js';

const names = ['a', 'b', 'c'] as const;
const pools = names.map((name) =>
  poolValue(name, { taints: [{ key: name, value: '', effect: 'NoSchedule' }] }),
);
const namespaces = [...names, 'tenant'].map((name): Namespace => ({
  uid: `namespace-${name}`,
  name,
  resourceVersion: '1',
  labels: { 'kubernetes.io/metadata.name': name },
}));
/** Pods of three namespaces, each of a pool of its own. */
const others = names.map((name) =>
  podValue(name, {
    namespace: name,
    labels: { app: name },
    tolerations: [{ key: name, operator: 'Exists' }],
  }),
);
const any: LabelSelector = { requirements: [] };
const having = (key: string, value: string): LabelSelector => ({
  requirements: [{ key, operator: 'In', values: [value] }],
});
const termOf = (over: Partial<PodAffinityTerm>): PodAffinityTerm => ({
  topologyKey: 'zone',
  namespaces: [],
  selector: any,
  ...over,
});
const everyone = termOf({ namespaceSelector: any });
const tenant = (over: Partial<Pod>): Pod =>
  podValue('tenant', {
    namespace: 'tenant',
    tolerations: [{ key: 'd', operator: 'Exists' }],
    ...over,
  });

/** The UIDs of each group, in order. */
const grouped = (pod: Pod): readonly string[] =>
  [...groupsOf([...others, pod], pools, namespaces).values()]
    .map((pods) => pods.map(({ uid }) => uid).join('+'))
    .sort();
const apart = ['a', 'b', 'c', 'tenant'];

describe('pods of pools that share nothing are groups of their own', () => {
  test.each<[string, Partial<Pod>]>([
    ['with a pod without rules', {}],
    [
      'though a pod prefers to be with all pods of all namespaces',
      { preferredPodAffinity: [{ weight: 100, term: everyone }] },
    ],
    [
      'though a pod prefers to be away from all pods of all namespaces',
      { preferredPodAntiAffinity: [{ weight: 1, term: everyone }] },
    ],
    [
      'though a pod must be with pods of namespaces that nobody has',
      { requiredPodAffinity: [termOf({ namespaceSelector: having('team', 'x') })] },
    ],
    [
      'though a pod must be away from pods that no namespace has',
      {
        requiredPodAntiAffinity: [
          termOf({ namespaceSelector: any, selector: having('app', 'none') }),
        ],
      },
    ],
    [
      'though a pod must be with pods of a namespace that it names, which has none of them',
      { requiredPodAffinity: [termOf({ namespaces: ['a'], selector: having('app', 'b') })] },
    ],
  ])('%s', (_what, over) => expect(grouped(tenant(over))).toEqual(apart));
});

describe('a required term joins the namespaces whose pending pods it selects', () => {
  test.each<[string, PodAffinityTerm, readonly string[]]>([
    ['one that it names', termOf({ namespaces: ['b'] }), ['a', 'b+tenant', 'c']],
    [
      'one that it selects by its labels',
      termOf({ namespaceSelector: having('kubernetes.io/metadata.name', 'c') }),
      ['a', 'b', 'c+tenant'],
    ],
    [
      'those with a pod that it selects',
      termOf({ namespaceSelector: any, selector: having('app', 'a') }),
      ['a+tenant', 'b', 'c'],
    ],
    ['all, if it selects all of each', everyone, ['a+b+c+tenant']],
  ])('%s', (_what, term, expected) => {
    expect(grouped(tenant({ requiredPodAffinity: [term] }))).toEqual(expected);
    expect(grouped(tenant({ requiredPodAntiAffinity: [term] }))).toEqual(expected);
  });
});

test.each([
  ['DoNotSchedule', ['c+tenant']],
  ['ScheduleAnyway', ['c', 'tenant']],
] as const)('a spread that says %s leaves the pods of its namespace as %j', (action, expected) => {
  const [, , other] = others;
  const pod = tenant({
    namespace: 'c',
    topologySpread: [
      {
        maxSkew: 1,
        topologyKey: 'zone',
        whenUnsatisfiable: action,
        nodeAffinityPolicy: 'Honor',
        nodeTaintsPolicy: 'Ignore',
      },
    ],
  });
  const made = groupsOf([other as Pod, pod], pools, namespaces);
  expect([...made.values()].map((pods) => pods.map(({ uid }) => uid).join('+'))).toEqual(expected);
});

test('a pool that changes is asked anew for a pod that waits', () => {
  const [, , pod] = others;
  const [pool] = pools;
  expect([...groupsOf([pod as Pod], pools).keys()]).toEqual(['NodePool/c']);
  const opened = { ...pool, taints: [] } as (typeof pools)[number];
  expect([...groupsOf([pod as Pod], [opened]).keys()]).toEqual(['NodePool/a']);
});
