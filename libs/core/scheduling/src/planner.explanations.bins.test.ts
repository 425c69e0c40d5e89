import { describe, expect, test } from 'vitest';

import type { Reason } from './index.js';
import { cores, limited, made, of, one, term, why, zoneKey } from './testing/explaining.js';
import { gibibytes, nodeOf, offeringOf, podsOf, poolOf, typeOf } from './testing/objects.js';
import { type Scenario } from './testing/scenario.js';

describe('a pod that loses its place to another is told which demand displaced it', () => {
  test.each<[string, Scenario, number, Partial<Reason>]>([
    [
      'in a zone',
      {
        pods: podsOf('w', 3, {
          labels: { app: 'web' },
          requiredPodAntiAffinity: [term(zoneKey, 'web')],
        }),
      },
      0,
      {
        code: 'displaced',
        values: {
          rule: 'pod-anti-affinity',
          key: zoneKey,
          by: 'default/w-0 (2 pods)',
          counts: 'zone-a=1,zone-b=1',
        },
        message: `anti-affinity over ${zoneKey} left a domain open before this plan; other pods of the plan took the last place: default/w-0 (2 pods)`,
      },
    ],
    [
      'under a limit',
      {
        pods: [
          ...podsOf('big', 1, { requests: cores(8) }),
          ...podsOf('late', 1, { requests: cores(1) }),
        ],
        pools: limited({ cpu: 8000 }),
      },
      0,
      {
        code: 'pool-limit',
        values: { limit: 'cpu=8', left: '0', smallest: '2', by: 'default/big-0' },
        message: `the limit of 8 cpu leaves 0 in ${of}; the smallest node for this pod needs 2; this plan gave its nodes to default/big-0`,
        remedy: `raise the limit cpu of ${of} to 10`,
      },
    ],
    [
      'on a node that exists',
      {
        pods: [
          ...podsOf('big', 1, { requests: cores(3) }),
          ...podsOf('late', 1, { requests: cores(2) }),
        ],
        pools: [],
        snapshot: { nodes: [nodeOf('n')] },
      },
      1,
      {
        code: 'node-full',
        values: { resource: 'cpu', requested: '2', largest: '1', by: 'default/big-0' },
        message:
          '1 of 1 existing nodes: not enough cpu; 2 requested, at most 1 free; this plan put default/big-0 there',
      },
    ],
  ])('%s', (_, scenario, at, reason) => expect(why(scenario)[at]).toMatchObject(reason));
  test('but that the search was ended, when it had no time to try', () => {
    const late = made({
      pods: podsOf('p', 5_001, { requests: cores(1) }),
      pools: limited({ cpu: 400_000 }),
      options: { shouldStop: () => true },
    });
    expect(late.unplaced).toHaveLength(5_001);
    expect(late.unplaced[0]?.reasons).toEqual([
      {
        code: 'budget-ended',
        subject: of,
        values: {},
        message: 'the search ended before this pod was placed; the next round plans it again',
      },
    ]);
  });
  test('in a capacity reservation', () => {
    const reserved = typeOf({
      name: 'r.4',
      cpuMillis: 4000,
      memoryBytes: gibibytes(16),
      offerings: [
        offeringOf('zone-a', 'reserved', 0, { reservation: { id: 'cr', remaining: 1 } }),
        offeringOf('zone-a', 'on-demand', 100),
      ],
    });
    expect(
      why({ pods: podsOf('p', 2, { requests: cores(3) }), types: [reserved] })[0],
    ).toMatchObject({
      code: 'reserved-capacity',
      values: { by: 'default/p-0' },
      remedy: 'enlarge the reservation, or let reserved offerings fall back',
    });
  });
});

describe('a bin says why its pool, which types stayed and what ended the others', () => {
  const notes = (scenario: Scenario): readonly Reason[] => made(scenario).newNodes[0]?.notes ?? [];
  test('the only pool, every type', () =>
    expect(notes(one({}))).toEqual([
      {
        code: 'pool-chosen',
        subject: of,
        values: { weight: '0', pools: '1' },
        message: `${of} is the only pool that may open nodes`,
      },
    ]));
  test('types that the pods rule out, label by label, and types that are too small', () =>
    expect(
      notes(
        one({
          requests: cores(3),
          nodeSelector: { 'kubernetes.io/arch': 'arm64', [zoneKey]: 'zone-a' },
        }),
      ).slice(1),
    ).toEqual([
      {
        code: 'requirement-mismatch',
        subject: of,
        values: {
          'kubernetes.io/arch': 'In [arm64]',
          [zoneKey]: 'In [zone-a]',
          steps: 'kubernetes.io/arch 3 of 6',
        },
        fell: { count: 3, of: 6 },
        message: "3 of 6 types do not meet the pods' requirements: kubernetes.io/arch 3 of 6",
      },
      {
        code: 'resources-too-large',
        subject: of,
        values: { stayed: '2', cheapest: 'b.4' },
        fell: { count: 1, of: 3 },
        message:
          "1 of 3 types are too small for all pods of the node, or above the pool's limits; 2 remain",
      },
    ]));
  test('types beyond the number that one node may name', () =>
    expect(notes({ ...one({}), options: { instanceTypesMax: 2 } })[1]?.message).toBe(
      "4 of 6 types are too small for all pods of the node, or above the pool's limits, or dearer than the 2 types that one node may name; 2 remain",
    ));
  test('a heavier pool that could not take the pods', () =>
    expect(
      notes(
        one(
          {},
          {
            pools: [
              poolOf('light'),
              poolOf('heavy', { weight: 9, taints: [{ key: 'x', effect: 'NoSchedule' }] }),
            ],
          },
        ),
      )[0]?.message,
    ).toBe(
      'NodePool/light: heavier pools could not take default/p: NodePool/heavy (weight 9): the pod does not tolerate x:NoSchedule of NodePool/heavy; the next of 2 pools, of weight 0',
    ));
  test('the heaviest pool', () =>
    expect(
      notes(one({}, { pools: [poolOf('light'), poolOf('heavy', { weight: 9 })] }))[0],
    ).toMatchObject({
      subject: 'NodePool/heavy',
      values: { weight: '9', pools: '2' },
      message: 'NodePool/heavy: the heaviest of 2 pools, of weight 9',
    }));
  test('the cheapest of equals', () =>
    expect(
      notes(
        one(
          {},
          {
            pools: [
              poolOf('a'),
              poolOf('dear', {
                requirements: [
                  { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
                ],
              }),
            ],
          },
        ),
      )[0]?.message,
    ).toBe('NodePool/a: the cheapest of 2 pools of weight 0 that the plan found'));
});
