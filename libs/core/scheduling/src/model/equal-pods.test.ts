import type { Pod, PodAffinityTerm } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import { podOf, selecting } from '../testing/objects.js';
import { equalPods, type Reading } from './equal-pods.js';

const reading: Reading = {
  names: ['cpu', 'memory'],
  selection: { any: false, keys: new Set() },
  claims: new Set<string>(),
  takenClaim: () => undefined,
};
const listsOf = (
  pods: readonly Pod[],
  over: Partial<Reading> = {},
): readonly (readonly string[])[] =>
  equalPods(pods, { ...reading, ...over }).map((list) => list.pods.map(({ uid }) => uid));

const term: PodAffinityTerm = {
  topologyKey: 'kubernetes.io/hostname',
  selector: selecting({ app: 'web' }),
  namespaces: [],
};
const expression = [
  {
    matchExpressions: [{ key: 'disk', operator: 'In' as const, values: ['ssd'] }],
    matchFields: [],
  },
];

describe('pods are equal when they are in everything that planning reads', () => {
  test('whatever their names, owners, ages and labels that nobody selects', () => {
    expect(
      listsOf([
        podOf('a', { labels: { app: 'a' }, createdMs: 1 }),
        podOf('b', { labels: { app: 'b' }, createdMs: 2 }),
      ]),
    ).toEqual([['a', 'b']]);
  });
  test.each<[string, Partial<Pod>]>([
    ['cpu', { requests: { cpu: 2_000, memory: 1, pods: 1 } }],
    ['memory', { requests: { cpu: 1_000, memory: 2, pods: 1 } }],
    ['a node selector', { nodeSelector: { disk: 'ssd' } }],
    ['required node affinity', { requiredNodeAffinity: expression }],
    ['preferred node affinity', { preferredNodeAffinity: [{ weight: 1, term: expression[0]! }] }],
    ['a toleration', { tolerations: [{ key: 'gpu', operator: 'Exists' }] }],
    ['required pod affinity', { requiredPodAffinity: [term] }],
    ['preferred pod affinity', { preferredPodAffinity: [{ weight: 1, term }] }],
    ['required anti-affinity', { requiredPodAntiAffinity: [term] }],
    ['preferred anti-affinity', { preferredPodAntiAffinity: [{ weight: 1, term }] }],
    ['a host port', { hostPorts: [{ ip: '', port: 80, protocol: 'TCP' }] }],
    ['a claim', { volumes: [{ claimName: 'data' }] }],
    ['a resource claim', { resourceClaims: ['gpu'] }],
    ['a scheduling gate', { schedulingGates: ['wait'] }],
  ])('but not when one asks for another %s', (_what, over) => {
    const plain: Partial<Pod> = { requests: { cpu: 1_000, memory: 1, pods: 1 } };
    expect(
      listsOf([podOf('a', plain), podOf('b', { ...plain, ...over }), podOf('c', plain)]),
    ).toEqual([['a', 'c'], ['b']]);
  });
  test('but not when labels differ that somebody selects, or namespaces then', () => {
    const pods = [
      podOf('a', { labels: { app: 'web' } }),
      podOf('b', { labels: { app: 'api' } }),
      podOf('c', { labels: { app: 'web' }, namespace: 'other' }),
    ];
    expect(listsOf(pods, { selection: { any: true, keys: new Set(['app']) } })).toEqual([
      ['a'],
      ['b'],
      ['c'],
    ]);
  });
  test('a resource that nobody counts does not part them', () => {
    expect(
      listsOf([
        podOf('a', { requests: { cpu: 1, memory: 1, 'example.com/x': 1 } }),
        podOf('b', { requests: { cpu: 1, memory: 1 } }),
      ]),
    ).toEqual([['a', 'b']]);
  });
});
