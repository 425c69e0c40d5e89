import type { Pool } from '@dovetail/core-api';
import { describe, expect, test } from '@jest/globals';

import type { ExistingNode } from './snapshot.js';
import {
  daemonSetOf,
  gibibytes,
  mebibytes,
  nodeOf,
  offeringOf,
  podOf,
  podsOf,
  poolOf,
  typeOf,
} from './testing/objects.js';
import { codesOf, planScenario, valuesAt } from './testing/scenario.js';

const cores = (count: number) => ({ cpu: count * 1000, memory: mebibytes(100), pods: 1 });

describe('existing nodes', () => {
  test.each<[string, Partial<ExistingNode>, boolean]>([
    ['a ready node', {}, true],
    ['an uninitialised node', { state: 'uninitialized' }, true],
    ['a claim in flight', { state: 'in-flight' }, true],
    ['a cordoned node', { cordoned: true }, false],
    ['a node on its way out', { state: 'deleting' }, false],
    ['a full node', { pods: podsOf('run', 4, { requests: cores(1), phase: 'Running' }) }, false],
    [
      'a node whose pods have ended',
      { pods: podsOf('run', 4, { requests: cores(1), phase: 'Succeeded' }) },
      true,
    ],
    [
      'a node promised to others',
      { promisedPods: podsOf('run', 4, { requests: cores(1) }) },
      false,
    ],
    ['a node with reserved room', { reserved: { cpu: 3500 } }, false],
    ['a tainted node', { taints: [{ key: 'x', effect: 'NoSchedule' }] }, false],
    [
      'a node that is full of another resource, which the pod does not want',
      {
        allocatable: { cpu: 4000, memory: gibibytes(16), pods: 110, 'vendor/x': 0 },
        pods: [podOf('run', { requests: { 'vendor/x': 1, pods: 1 }, phase: 'Running' })],
      },
      true,
    ],
  ])('%s: used %s', (_, over, used) => {
    const made = planScenario({
      pods: [podOf('p', { requests: cores(1) })],
      snapshot: { nodes: [nodeOf('n', over)] },
    });
    expect(made.placements.length === 1).toBe(used);
  });
  test('ready nodes are filled before uninitialised ones, then by name', () => {
    const nodes = [nodeOf('a', { state: 'uninitialized' }), nodeOf('c'), nodeOf('b')];
    expect(
      planScenario({
        pods: podsOf('p', 9, { requests: cores(1) }),
        snapshot: { nodes },
      }).placements.map((one) => [one.nodeName, one.podUids.length]),
    ).toEqual([
      ['b', 4],
      ['c', 4],
      ['a', 1],
    ]);
  });
  test('daemonsets that have not started yet keep their room, those that run are counted once', () => {
    const daemonSets = [daemonSetOf('agent', { requests: cores(1) })];
    const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: 'ds-agent' };
    const nodes = [
      nodeOf('empty'),
      nodeOf('running', {
        pods: [podOf('agent-1', { owner, phase: 'Running', requests: cores(1) })],
      }),
    ];
    expect(
      planScenario({
        pods: podsOf('p', 6, { requests: cores(1) }),
        snapshot: { nodes, daemonSets },
      }).placements.map((one) => one.podUids.length),
    ).toEqual([3, 3]);
  });
});

describe('daemonsets on new nodes', () => {
  test('their requests are part of the node, and of its claim', () => {
    const made = planScenario({
      pods: [podOf('p', { requests: cores(1) })],
      snapshot: {
        daemonSets: [
          daemonSetOf('agent', { requests: { cpu: 1500, memory: mebibytes(10), pods: 1 } }),
        ],
      },
    });
    expect([made.newNodes[0]?.requests['cpu'], made.newNodes[0]?.options[0]?.instanceType]).toEqual(
      [2500, 'cg.4'],
    );
  });
  test('only types that a daemonset goes to carry it', () => {
    const daemonSets = [
      daemonSetOf('arm', {
        requests: { cpu: 1500, memory: 0, pods: 1 },
        nodeSelector: { 'kubernetes.io/arch': 'arm64' },
      }),
    ];
    expect(
      valuesAt(
        planScenario({
          pods: [podOf('p', { requests: { cpu: 1800, memory: 0, pods: 1 } })],
          snapshot: { daemonSets },
        }),
        'p',
        'instanceType',
      ),
    ).toContain('c.2');
  });
  test('a daemonset that does not tolerate the pool does not count; PreferNoSchedule does not stop one', () => {
    const pool = (effect: 'NoSchedule' | 'PreferNoSchedule') =>
      poolOf('default', { taints: [{ key: 'x', effect }] });
    const requests = (effect: 'NoSchedule' | 'PreferNoSchedule') =>
      planScenario({
        pools: [pool(effect)],
        pods: [podOf('p', { tolerations: [{ operator: 'Exists' }], requests: cores(1) })],
        snapshot: { daemonSets: [daemonSetOf('agent', { requests: cores(1) })] },
      }).newNodes[0]?.requests['cpu'];
    expect([requests('NoSchedule'), requests('PreferNoSchedule')]).toEqual([1000, 2000]);
  });
  test('a host port that a daemonset takes is taken on the types that carry it', () => {
    const port = { ip: '', port: 443, protocol: 'TCP' as const };
    const daemonSets = [
      daemonSetOf('edge', {
        hostPorts: [port],
        nodeSelector: { 'karpenter.k8s.aws/instance-family': 'c' },
      }),
    ];
    expect(
      valuesAt(
        planScenario({ pods: [podOf('p', { hostPorts: [port] })], snapshot: { daemonSets } }),
        'p',
        'instanceType',
      ).some((name) => name.startsWith('c')),
    ).toBe(false);
  });
  test('a pod that fits only without daemonsets is told so', () =>
    expect(
      codesOf(
        planScenario({
          pods: [podOf('p', { requests: cores(31) })],
          snapshot: { daemonSets: [daemonSetOf('agent', { requests: cores(1) })] },
        }),
        'p',
      ),
    ).toEqual(['daemonset-overhead']));
});

describe('host ports', () => {
  const port = (ip: string, number: number, protocol: 'TCP' | 'UDP' = 'TCP') => ({
    ip,
    port: number,
    protocol,
  });
  test.each([
    [port('', 80), port('', 80), 2],
    [port('', 80), port('', 81), 1],
    [port('', 80), port('', 80, 'UDP'), 1],
    [port('10.0.0.1', 80), port('10.0.0.2', 80), 1],
    [port('10.0.0.1', 80), port('0.0.0.0', 80), 2],
    [port('10.0.0.1', 80), port('::', 80), 2],
  ])('%j and %j need %i nodes', (a, b, nodes) =>
    expect(
      planScenario({ pods: [podOf('a', { hostPorts: [a] }), podOf('b', { hostPorts: [b] })] })
        .newNodes,
    ).toHaveLength(nodes),
  );
});

describe('pools', () => {
  const named = (name: string, over: Partial<Pool> = {}) => poolOf(name, over);
  test.each<[string, Pool[], string]>([
    [
      'the heavier pool wins, even if dearer',
      [
        named('light'),
        named('heavy', {
          weight: 10,
          requirements: [
            { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
          ],
        }),
      ],
      'heavy',
    ],
    [
      'a heavier pool that cannot is passed over',
      [
        named('light'),
        named('heavy', { weight: 10, taints: [{ key: 'x', effect: 'NoSchedule' }] }),
      ],
      'light',
    ],
    [
      'of equal weight the cheaper wins',
      [
        named('z', {
          requirements: [
            { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
          ],
        }),
        named('a'),
      ],
      'a',
    ],
    ['static pools are left out', [named('static', { replicas: 3, weight: 10 }), named('a')], 'a'],
    [
      'pools that are not ready are left out',
      [named('broken', { ready: false, weight: 10 }), named('a')],
      'a',
    ],
    [
      'pools that are going are left out',
      [named('going', { deletionMs: 1, weight: 10 }), named('a')],
      'a',
    ],
  ])('%s', (_, pools, expected) =>
    expect(
      planScenario({ pods: [podOf('p')], pools }).newNodes.map((node) => node.pool.name),
    ).toEqual([expected]),
  );
  test.each<[string, Pool[], string[]]>([
    ['none', [], ['no-pools']],
    ['static only', [named('s', { replicas: 1 })], ['pool-static']],
    ['not ready', [named('b', { ready: false })], ['pool-not-ready']],
    ['a price cap below everything', [named('c', { maxPriceMicrosPerHour: 10 })], ['price-cap']],
  ])('pools: %s: explained', (_, pools, codes) =>
    expect(codesOf(planScenario({ pods: [podOf('p')], pools }), 'p')).toEqual(codes),
  );
  test('a price cap keeps dear offers out', () => {
    const made = planScenario({
      pods: [podOf('p', { requests: cores(1) })],
      pools: [poolOf('default', { maxPriceMicrosPerHour: 50_000 })],
    });
    expect(
      Math.max(...(made.newNodes[0]?.options.map((one) => one.priceMicrosPerHour) ?? [])),
    ).toBeLessThanOrEqual(50_000);
  });
});

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
