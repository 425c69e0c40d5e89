import { type Pod, type PodAffinityTerm, requirementsOf } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import { nodeOf, podOf, podsOf, selecting } from './testing/objects.js';
import { codesOf, perNode, planScenario, valuesAt, zoneCounts } from './testing/scenario.js';
import { hostKey, term, web, zoneKey } from './testing/topology.js';

describe('pod affinity', () => {
  test.each<[string, Pod[], string, number]>([
    [
      'pods that want to be with themselves share one node',
      [...podsOf('w', 5, web({ requiredPodAffinity: [term(hostKey, 'web')] }))],
      'w',
      1,
    ],
    [
      'pods that follow others join their node',
      [
        ...podsOf('db', 1, { labels: { app: 'db' } }),
        ...podsOf('w', 3, web({ requiredPodAffinity: [term(hostKey, 'db')] })),
      ],
      'w',
      1,
    ],
  ])('%s', (_, pods, prefix, nodes) => {
    const made = planScenario({ pods });
    expect([made.unplaced.length, perNode(made, prefix).length]).toEqual([0, nodes]);
  });
  test('zone affinity to itself keeps all in one zone', () =>
    expect(
      zoneCounts(
        planScenario({
          pods: podsOf(
            'w',
            9,
            web({ requests: { cpu: 7000, pods: 1 }, requiredPodAffinity: [term(zoneKey, 'web')] }),
          ),
        }),
        'w',
      ),
    ).toEqual([9]));
  test.each<[string, readonly string[], boolean, readonly string[]]>([
    [
      'may come to two zones: they wait for it',
      ['zone-a', 'zone-b'],
      true,
      ['pod-affinity', 'node-cordoned'],
    ],
    ['is surely in one zone: they join it', ['zone-a'], true, []],
    ['has no pod like them: they start a zone', ['zone-a', 'zone-b'], false, []],
  ])('pods that follow their own on a cordoned claim that %s', (_, zones, runs, codes) => {
    const follow = web({ requiredPodAffinity: [term(zoneKey, 'web')] });
    const claim = nodeOf('claim', {
      state: 'in-flight',
      cordoned: true,
      requirements: requirementsOf([{ key: zoneKey, operator: 'In', values: zones }]),
      promisedPods: runs ? [podOf('first', follow)] : [],
    });
    const made = planScenario({ pods: podsOf('w', 2, follow), snapshot: { nodes: [claim] } });
    expect([codesOf(made, 'w-0'), codesOf(made, 'w-1')]).toEqual([codes, codes]);
    expect(made.unplaced[0]?.reasons[0]?.message ?? 'not decided yet').toMatch('not decided yet');
    if (codes.length === 0 && runs) expect(valuesAt(made, 'w-0', 'zone')).toEqual(zones);
  });
  test('affinity to nobody is explained', () =>
    expect(
      codesOf(
        planScenario({ pods: podsOf('w', 1, web({ requiredPodAffinity: [term(zoneKey, 'db')] })) }),
        'w-0',
      ),
    ).toEqual(['pod-affinity']));
  test('a chain of dependencies is resolved whatever its order', () =>
    expect(
      planScenario({
        pods: [
          ...podsOf('c', 1, {
            labels: { app: 'c' },
            requests: { cpu: 3000, pods: 1 },
            requiredPodAffinity: [term(hostKey, 'b')],
          }),
          ...podsOf('b', 1, {
            labels: { app: 'b' },
            requests: { cpu: 2000, pods: 1 },
            requiredPodAffinity: [term(hostKey, 'a')],
          }),
          ...podsOf('a', 1, { labels: { app: 'a' } }),
        ],
      }).newNodes,
    ).toHaveLength(1));
  test.each<[string, Partial<PodAffinityTerm>, boolean]>([
    ['own namespace only', {}, false],
    ['a listed namespace', { namespaces: ['other'] }, true],
    ['a namespace selector', { namespaceSelector: selecting({ team: 'x' }) }, true],
    ['an empty namespace selector selects all', { namespaceSelector: { requirements: [] } }, true],
  ])('across namespaces, %s: placed %s', (_, over, expected) =>
    expect(
      planScenario({
        pods: [
          podOf('db', { namespace: 'other', labels: { app: 'db' } }),
          podOf('w', web({ requiredPodAffinity: [term(zoneKey, 'db', over)] })),
        ],
        snapshot: {
          namespaces: [{ uid: 'o', name: 'other', resourceVersion: '1', labels: { team: 'x' } }],
        },
      }).unplaced.length === 0,
    ).toBe(expected),
  );
});

describe('pod anti-affinity', () => {
  test('hostname: one each', () =>
    expect(
      perNode(
        planScenario({
          pods: podsOf('w', 4, web({ requiredPodAntiAffinity: [term(hostKey, 'web')] })),
        }),
        'w',
      ),
    ).toEqual([1, 1, 1, 1]));
  test('zone: as many as zones, the others are told who took them', () => {
    const made = planScenario({
      pods: podsOf('w', 5, web({ requiredPodAntiAffinity: [term(zoneKey, 'web')] })),
    });
    expect([
      zoneCounts(made, 'w'),
      made.unplaced.length,
      made.unplaced[0]?.reasons[0]?.code,
    ]).toEqual([[1, 1, 1], 2, 'displaced']);
  });
  test('the inverse holds: a pod may not join one that must not be with it', () => {
    const made = planScenario({
      pods: [
        podOf('guard', {
          labels: { app: 'guard' },
          requests: { cpu: 1000, pods: 1 },
          requiredPodAntiAffinity: [term(hostKey, 'web')],
        }),
        ...podsOf('w', 2, web()),
      ],
    });
    expect(made.newNodes.find((node) => node.podUids.includes('guard'))?.podUids).toEqual([
      'guard',
    ]);
  });
  test('the inverse of a running pod holds in its whole zone', () => {
    const guard = podOf('guard', {
      phase: 'Running',
      requiredPodAntiAffinity: [term(zoneKey, 'web')],
    });
    const made = planScenario({
      pods: podsOf('w', 2, web()),
      snapshot: { nodes: [nodeOf('n', { labels: { [zoneKey]: 'zone-a' }, pods: [guard] })] },
    });
    expect(made.newNodes.flatMap((node) => node.options.map((one) => one.zone))).not.toContain(
      'zone-a',
    );
  });
  test('a claim in flight that may be in several zones is feared in all of them', () => {
    const guard = podOf('guard', { requiredPodAntiAffinity: [term(zoneKey, 'web')] });
    const open = nodeOf('claim', {
      state: 'in-flight',
      requirements: new Map([
        [zoneKey, { kind: 'in', values: new Set(['zone-a', 'zone-b']), present: true }],
      ]),
      promisedPods: [guard],
    });
    const made = planScenario({ pods: podsOf('w', 1, web()), snapshot: { nodes: [open] } });
    expect([
      ...new Set(made.newNodes.flatMap((node) => node.options.map((one) => one.zone))),
    ]).toEqual(['zone-c']);
  });
  test('preferred anti-affinity parts pods while that is possible', () =>
    expect(
      perNode(
        planScenario({
          pods: podsOf(
            'w',
            3,
            web({ preferredPodAntiAffinity: [{ weight: 1, term: term(hostKey, 'web') }] }),
          ),
        }),
        'w',
      ),
    ).toEqual([1, 1, 1]));
  test('preferred anti-affinity in more zones than there are yields', () =>
    expect(
      planScenario({
        pods: podsOf(
          'w',
          5,
          web({ preferredPodAntiAffinity: [{ weight: 1, term: term(zoneKey, 'web') }] }),
        ),
      }).unplaced,
    ).toEqual([]));
  test('preferred anti-affinity of others never keeps a pod away', () =>
    expect(
      planScenario({
        pods: [
          podOf('shy', {
            requests: { cpu: 900, pods: 1 },
            preferredPodAntiAffinity: [{ weight: 1, term: term(hostKey, 'web') }],
          }),
          ...podsOf('w', 1, web()),
        ],
      }).newNodes,
    ).toHaveLength(1));
});
