import { type Pod, type TopologySpreadConstraint } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import { nodeOf, podOf, podsOf, poolOf } from './testing/objects.js';
import { codesOf, perNode, planScenario, zoneCounts } from './testing/scenario.js';
import { hostKey, running, spread, web, zoneKey } from './testing/topology.js';

describe('zone spread', () => {
  test.each<[string, number, Partial<TopologySpreadConstraint>, number[]]>([
    ['seven pods, maxSkew 1', 7, {}, [2, 2, 3]],
    ['six pods', 6, {}, [2, 2, 2]],
    ['one pod', 1, {}, [1]],
    ["two zones in the pod's own selector count two domains", 4, {}, [1, 1, 2]],
  ])('%s', (_, count, over, expected) =>
    expect(
      zoneCounts(
        planScenario({
          pods: podsOf('w', count, web({ topologySpread: [spread(zoneKey, over)] })),
        }),
        'w',
      ),
    ).toEqual(expected),
  );

  test.each<[string, Parameters<typeof planScenario>[0]['snapshot'], number, number[]]>([
    ['pods that run count', { nodes: [running('zone-a', 2)] }, 4, [2, 2]],
    [
      'a zone that is over the skew already is left alone',
      { nodes: [running('zone-a', 5)] },
      2,
      [1, 1],
    ],
    [
      'pods that have ended do not count',
      {
        nodes: [
          { ...running('zone-a', 2), pods: podsOf('old', 2, { ...web(), phase: 'Succeeded' }) },
        ],
      },
      3,
      [1, 1, 1],
    ],
    [
      'pods that are going do not count',
      {
        nodes: [
          {
            ...running('zone-a', 2),
            pods: podsOf('old', 2, { ...web(), phase: 'Running', deletionMs: 1 }),
          },
        ],
      },
      3,
      [1, 1, 1],
    ],
  ])('%s', (_, snapshot, count, expected) =>
    expect(
      zoneCounts(
        planScenario({
          pods: podsOf('w', count, web({ topologySpread: [spread(zoneKey)] })),
          ...(snapshot === undefined ? {} : { snapshot }),
        }),
        'w',
      ),
    ).toEqual(expected),
  );

  test("the pool's zones are the domains", () =>
    expect(
      zoneCounts(
        planScenario({
          pools: [
            poolOf('default', {
              requirements: [{ key: zoneKey, operator: 'In', values: ['zone-a', 'zone-b'] }],
            }),
          ],
          pods: podsOf('w', 4, web({ topologySpread: [spread(zoneKey)] })),
        }),
        'w',
      ),
    ).toEqual([2, 2]));
  test("a pod's own node selector narrows the domains", () =>
    expect(
      zoneCounts(
        planScenario({
          pods: podsOf(
            'w',
            4,
            web({ nodeSelector: { [zoneKey]: 'zone-b' }, topologySpread: [spread(zoneKey)] }),
          ),
        }),
        'w',
      ),
    ).toEqual([4]));
  test.each<[string, readonly Pod[], number]>([
    ['it does not: zones count that other pods may go to', [podOf('anywhere')], 3],
    ['zones that no pod may go to do not count', [], 0],
  ])('with nodeAffinityPolicy Ignore %s', (_, beside, left) =>
    expect(
      planScenario({
        pods: [
          ...beside,
          ...podsOf(
            'w',
            4,
            web({
              nodeSelector: { [zoneKey]: 'zone-b' },
              topologySpread: [spread(zoneKey, { nodeAffinityPolicy: 'Ignore' })],
            }),
          ),
        ],
      }).unplaced,
    ).toHaveLength(left),
  );
  test('a preference for a zone does not narrow the domains', () =>
    expect(
      zoneCounts(
        planScenario({
          pods: podsOf(
            'w',
            3,
            web({
              preferredNodeAffinity: [
                {
                  weight: 1,
                  term: {
                    matchExpressions: [{ key: zoneKey, operator: 'In', values: ['zone-a'] }],
                    matchFields: [],
                  },
                },
              ],
              topologySpread: [spread(zoneKey)],
            }),
          ),
        }),
        'w',
      ),
    ).toEqual([1, 1, 1]));
  test.each([
    [2, 9, 9],
    [4, 9, 3],
  ])(
    'minDomains %i: %i pods of which %i are placed, because there are three zones',
    (minDomains, count, expected) =>
      expect(
        planScenario({
          pods: podsOf('w', count, web({ topologySpread: [spread(zoneKey, { minDomains })] })),
        }).unplaced,
      ).toHaveLength(count - expected),
  );
  test('constraints that differ only in minDomains are counted apart', () =>
    expect(
      planScenario({
        pods: [
          ...podsOf('a', 3, web({ topologySpread: [spread(zoneKey, { minDomains: 4 })] })),
          ...podsOf('b', 6, web({ topologySpread: [spread(zoneKey)] })),
        ],
      }).unplaced.every((one) => one.podUid.startsWith('a')),
    ).toBe(true));
  test('an unknown key keeps the pods pending, and says so', () =>
    expect(
      codesOf(
        planScenario({
          pods: podsOf('w', 1, web({ topologySpread: [spread('example.com/rack')] })),
        }),
        'w-0',
      ),
    ).toEqual(['topology-spread']));
  test('a constraint without selector counts nobody', () =>
    expect(
      planScenario({
        pods: podsOf(
          'w',
          4,
          web({
            topologySpread: [
              {
                ...spread(hostKey),
                selector: { requirements: [{ key: 'app', operator: 'In', values: ['nobody'] }] },
              },
            ],
          }),
        ),
      }).newNodes,
    ).toHaveLength(1));
  test('ScheduleAnyway spreads while it can', () =>
    expect(
      zoneCounts(
        planScenario({
          pods: podsOf(
            'w',
            3,
            web({ topologySpread: [spread(zoneKey, { whenUnsatisfiable: 'ScheduleAnyway' })] }),
          ),
        }),
        'w',
      ),
    ).toEqual([1, 1, 1]));
  test('ScheduleAnyway yields when it cannot', () =>
    expect(
      planScenario({
        pods: podsOf(
          'w',
          4,
          web({
            nodeSelector: { [zoneKey]: 'zone-a' },
            topologySpread: [
              spread(zoneKey, {
                whenUnsatisfiable: 'ScheduleAnyway',
                nodeAffinityPolicy: 'Ignore',
              }),
            ],
          }),
        ),
      }).unplaced,
    ).toEqual([]));
});

describe('spread over other labels', () => {
  test('capacity type: pods alternate between spot and on-demand', () => {
    const made = planScenario({
      pods: podsOf('w', 4, web({ topologySpread: [spread('karpenter.sh/capacity-type')] })),
    });
    const counts = new Map<string, number>();
    for (const node of made.newNodes)
      for (const kind of new Set(node.options.map((one) => one.capacityType)))
        counts.set(kind, (counts.get(kind) ?? 0) + node.podUids.length);
    expect([...counts].sort()).toEqual([
      ['on-demand', 2],
      ['spot', 2],
    ]);
  });
  test('architecture', () =>
    expect(
      planScenario({
        pods: podsOf('w', 2, web({ topologySpread: [spread('kubernetes.io/arch')] })),
      }).newNodes,
    ).toHaveLength(2));
  test('a custom label of the pool', () =>
    expect(
      planScenario({
        pools: [
          poolOf('default', {
            requirements: [{ key: 'rack', operator: 'In', values: ['1', '2'] }],
          }),
        ],
        pods: podsOf('w', 4, web({ topologySpread: [spread('rack')] })),
      })
        .newNodes.map((node) => [node.labels['rack'], node.podUids.length])
        .sort(),
    ).toEqual([
      ['1', 2],
      ['2', 2],
    ]));
  test('zone and hostname together', () => {
    const made = planScenario({
      pods: podsOf('w', 6, web({ topologySpread: [spread(zoneKey), spread(hostKey)] })),
      options: { hostnameSpread: 'strict' },
    });
    expect([zoneCounts(made, 'w'), perNode(made, 'w')]).toEqual([
      [2, 2, 2],
      [1, 1, 1, 1, 1, 1],
    ]);
  });
});

describe('hostname spread with the emptiest node as 0', () => {
  test.each([
    [1, [1, 1, 1, 1]],
    [2, [2, 2]],
    [4, [4]],
  ])('maxSkew %i puts %j on nodes', (maxSkew, expected) =>
    expect(
      perNode(
        planScenario({
          pods: podsOf('w', 4, web({ topologySpread: [spread(hostKey, { maxSkew })] })),
          options: { hostnameSpread: 'strict' },
        }),
        'w',
      ),
    ).toEqual(expected),
  );
});

describe('hostname spread that counts every node', () => {
  const many = podsOf(
    'w',
    20,
    web({ requests: { cpu: 100, pods: 1 }, topologySpread: [spread(hostKey)] }),
  );
  test('more replicas than nodes are needed share nodes evenly, three at least', () =>
    expect(perNode(planScenario({ pods: many }), 'w')).toEqual([7, 7, 6]));
  test('an existing node that is full and has none of them keeps every node at maxSkew', () =>
    expect(
      perNode(
        planScenario({
          pods: many,
          snapshot: { nodes: [nodeOf('full', { allocatable: { cpu: 0, memory: 0, pods: 0 } })] },
        }),
        'w',
      ),
    ).toEqual(Array.from({ length: 20 }, () => 1)));
  test('pods of zone and hostname spread share the nodes of each zone', () => {
    const made = planScenario({
      pods: podsOf(
        'w',
        24,
        web({
          requests: { cpu: 100, pods: 1 },
          topologySpread: [spread(zoneKey), spread(hostKey)],
        }),
      ),
    });
    expect([zoneCounts(made, 'w'), perNode(made, 'w')]).toEqual([
      [8, 8, 8],
      [8, 8, 8],
    ]);
  });
});

test('a spread that leaves the capacity type open takes that of the heaviest pool', () => {
  const capacityKey = 'karpenter.sh/capacity-type';
  const selling = (type: string) => ({
    requirements: [{ key: capacityKey, operator: 'In' as const, values: [type] }],
  });
  const made = planScenario({
    pods: podsOf('w', 1, web({ topologySpread: [spread(capacityKey, { maxSkew: 2 })] })),
    pools: [
      poolOf('heavy', { weight: 9, ...selling('on-demand') }),
      poolOf('light', selling('spot')),
    ],
  });
  expect(made.newNodes.map(({ pool }) => pool.name)).toEqual(['heavy']);
});
