import { describe, expect, test } from 'vitest';

import {
  gibibytes,
  mebibytes,
  nodeOf,
  offeringOf,
  podOf,
  podsOf,
  poolOf,
  selecting,
  typeOf,
} from './testing/objects.js';
import { codesOf, planScenario } from './testing/scenario.js';

const cores = (count: number) => ({ cpu: count * 1000, memory: mebibytes(100), pods: 1 });

describe('limits hold exactly, whichever option is launched', () => {
  test.each<[string, Record<string, number>, number, number]>([
    ['8 cores hold 7 pods of one core on one node', { cpu: 8000 }, 20, 7],
    ['one node only', { nodes: 1 }, 40, 31],
    ['nothing', { cpu: 0 }, 3, 0],
    ['memory', { memory: gibibytes(4) }, 3, 1],
    ['far away', { cpu: 10_000_000 }, 12, 12],
  ])('%s', (_, limits, count, placed) => {
    const made = planScenario({
      pods: podsOf('p', count, { requests: cores(1) }),
      pools: [poolOf('default', { limits })],
    });
    expect(count - made.unplaced.length).toBe(placed);
    if (placed < count) expect(made.unplaced[0]?.reasons[0]?.code).toBe('pool-limit');
  });
  test('nodes that exist and claims in flight use up the limit, nodes on their way out do not', () => {
    const nodes = [
      nodeOf('a', { poolKey: 'NodePool/default', cordoned: true }),
      nodeOf('b', { poolKey: 'NodePool/default', state: 'deleting' }),
    ];
    expect(
      planScenario({
        pods: podsOf('p', 9, { requests: cores(1) }),
        pools: [poolOf('default', { limits: { cpu: 8000 } })],
        snapshot: { nodes },
      }).unplaced,
    ).toHaveLength(6);
  });
  test('what a limit turns away goes to the next pool', () =>
    expect(
      planScenario({
        pods: podsOf('p', 9, { requests: cores(1) }),
        pools: [poolOf('first', { weight: 9, limits: { cpu: 4000 } }), poolOf('second')],
      })
        .newNodes.map((node) => node.pool.name)
        .sort(),
    ).toEqual(['first', 'second']));
});

test('where a limit cannot hold all, pods of each class are tried first, also one class alone', () => {
  const requests = (cpu: number) => ({ cpu, memory: mebibytes(100), pods: 1 });
  const large = podsOf('large', 3, {
    requests: requests(1800),
    labels: { app: 'large' },
    requiredPodAntiAffinity: [
      {
        topologyKey: 'kubernetes.io/hostname',
        selector: selecting({ app: 'large' }),
        namespaces: [],
      },
    ],
  });
  const made = planScenario({
    pods: [...large, ...podsOf('small', 8, { requests: requests(150) })],
    pools: [poolOf('default', { limits: { cpu: 4000 } })],
  });
  // Two large pods on nodes of their own would leave no room for eight of the others.
  expect(made.unplaced.map(({ podUid }) => podUid).sort()).toEqual(['large-1', 'large-2']);
});

describe('minValues', () => {
  const pool = (minValues: number) =>
    poolOf('default', {
      requirements: [
        {
          key: 'node.kubernetes.io/instance-type',
          operator: 'In',
          values: ['c.2', 'c.4', 'm.4'],
          minValues,
        },
      ],
    });
  const big = { pods: [podOf('p', { requests: cores(3) })] };
  test.each<[number, 'Strict' | 'BestEffort', boolean, boolean]>([
    [2, 'Strict', true, false],
    [3, 'Strict', false, false],
    [3, 'BestEffort', true, true],
  ])('%i types, %s: placed %s, relaxed %s', (minValues, minValuesPolicy, placed, relaxed) => {
    const made = planScenario({ ...big, pools: [pool(minValues)], options: { minValuesPolicy } });
    expect([made.newNodes.length === 1, made.newNodes[0]?.minValuesRelaxed ?? false]).toEqual([
      placed,
      relaxed,
    ]);
  });
  test('pods are not packed so tightly that too few types remain', () =>
    expect(
      planScenario({ pods: podsOf('p', 4, { requests: cores(1) }), pools: [pool(3)] }).newNodes
        .length,
    ).toBeGreaterThan(1));
  test('types cut from the end of the list do not count', () =>
    expect(
      codesOf(
        planScenario({ pods: [podOf('p')], pools: [pool(3)], options: { instanceTypesMax: 2 } }),
        'p',
      ),
    ).toEqual(['min-values']));
});

describe('capacity reservations', () => {
  const type = (remaining: number) =>
    typeOf({
      name: 'm.4',
      cpuMillis: 4000,
      memoryBytes: gibibytes(16),
      offerings: [
        offeringOf('zone-a', 'on-demand', 200_000),
        offeringOf('zone-a', 'reserved', 0, { reservation: { id: 'cr-1', remaining } }),
      ],
    });
  const pods = podsOf('p', 3, { requests: cores(3) });
  test.each<[number, 'Strict' | 'Fallback', number, number]>([
    [3, 'Strict', 3, 0],
    [1, 'Strict', 1, 2],
    [1, 'Fallback', 1, 0],
    [0, 'Strict', 0, 0],
  ])(
    '%i left, %s: %i nodes are reserved and %i pods wait',
    (remaining, reservedOfferings, reserved, waiting) => {
      const made = planScenario({ pods, types: [type(remaining)], options: { reservedOfferings } });
      expect([
        made.newNodes.filter((node) => node.options.every((one) => one.reservationId === 'cr-1'))
          .length,
        made.unplaced.length,
      ]).toEqual([reserved, waiting]);
    },
  );
  test('pods that wait for a reservation are told so', () =>
    expect(planScenario({ pods, types: [type(1)] }).unplaced[0]?.reasons[0]?.code).toBe(
      'reserved-capacity',
    ));
});
