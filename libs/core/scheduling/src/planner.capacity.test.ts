import type { Pool } from '@dovetail/core-api';
import { describe, expect, test } from 'vitest';

import type { ExistingNode } from './snapshot.js';
import {
  daemonSetOf,
  gibibytes,
  mebibytes,
  nodeOf,
  podOf,
  podsOf,
  poolOf,
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
