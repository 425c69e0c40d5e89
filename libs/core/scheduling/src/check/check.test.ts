import { describe, expect, test } from 'vitest';

import { checkBin, defaultPlanOptions, type NewNode } from '../index.js';
import {
  bin,
  cores,
  found,
  inZone,
  type Made,
  option,
  placement,
  pods,
  port,
  spread,
  typeKey,
  types,
  withPool,
  worldOf,
  zoneKey,
} from '../testing/checked.js';
import { daemonSetOf, nodeOf, podsOf, poolOf } from '../testing/objects.js';

test('a plan that keeps every rule is left alone', () =>
  expect(
    found({
      pods: pods(3),
      newNodes: [bin('b', ['p-0', 'p-1'])],
      placements: [placement('n', ['p-2'])],
      snapshot: { nodes: [nodeOf('n')] },
    }),
  ).toEqual([]));

describe('each pod once', () => {
  test.each<[string, Made, readonly string[]]>([
    [
      'a pod that is forgotten',
      { pods: pods(2), newNodes: [bin('b', ['p-0'])] },
      ['missing-pod at p-1'],
    ],
    [
      'a pod that nobody asked for',
      { pods: pods(1), newNodes: [bin('b', ['p-0', 'x'])] },
      ['unknown-pod at x'],
    ],
    [
      'a pod in two places',
      { pods: pods(1), newNodes: [bin('b', ['p-0']), bin('c', ['p-0'])] },
      ['double-placement at p-0'],
    ],
    [
      'a pod left out without a reason',
      { pods: pods(1), plan: { unplaced: [{ podUid: 'p-0', reasons: [] }] } },
      ['missing-pod at p-0'],
    ],
    ['a node for nobody', { pods: [], newNodes: [bin('b', [])] }, ['missing-pod at b']],
  ])('%s', (_, made, expected) => expect(found(made)).toEqual(expected));
});

describe('money', () => {
  test.each<[string, Made, readonly string[]]>([
    [
      'a sum that is wrong',
      { pods: pods(1), newNodes: [bin('b', ['p-0'])], plan: { priceMicrosPerHour: 1 } },
      ['wrong-price at plan'],
    ],
    [
      'a bound above the price',
      {
        pods: pods(1),
        newNodes: [bin('b', ['p-0'])],
        plan: { bound: { kind: 'spread', priceMicrosPerHour: 201 } },
      },
      ['wrong-price at plan'],
    ],
    [
      'an option of another price',
      {
        pods: pods(1),
        newNodes: [
          bin('b', ['p-0'], { options: [option('m.2', 'a', { priceMicrosPerHour: 150 })] }),
        ],
      },
      ['wrong-price at b'],
    ],
    [
      'options that are not sorted',
      {
        pods: pods(1),
        newNodes: [bin('b', ['p-0'], { options: [option('m.4', 'a'), option('m.2', 'a')] })],
      },
      ['wrong-price at b'],
    ],
    [
      'a price above the cap',
      {
        pods: pods(1),
        newNodes: [bin('b', ['p-0'])],
        snapshot: withPool({ maxPriceMicrosPerHour: 199 }),
      },
      ['price-cap at b'],
    ],
    [
      'a price that is not below what this plan may pay',
      {
        pods: pods(1),
        newNodes: [bin('b', ['p-0'])],
        snapshot: withPool({}, { priceBelowMicrosPerHour: 200 }),
      },
      ['price-cap at b'],
    ],
  ])('%s', (_, made, expected) => expect(found(made)).toEqual(expected));
});

describe('what one node holds', () => {
  const running = podsOf('run', 4, { phase: 'Running', requests: cores(1) });
  test.each<[string, Made, readonly string[]]>([
    [
      'more than an option has, be it the last',
      {
        pods: pods(3, { requests: cores(1) }),
        newNodes: [
          bin('b', ['p-0', 'p-1', 'p-2'], { options: [option('m.2', 'a'), option('m.4', 'a')] }),
        ],
      },
      ['resources-too-large at b'],
    ],
    [
      'more than is left beside daemonsets',
      {
        pods: pods(2, { requests: cores(1) }),
        newNodes: [bin('b', ['p-0', 'p-1'])],
        snapshot: { daemonSets: [daemonSetOf('d')] },
      },
      ['resources-too-large at b'],
    ],
    [
      'more than an existing node has left',
      {
        pods: pods(1),
        placements: [placement('n', ['p-0'])],
        snapshot: { nodes: [nodeOf('n', { pods: running })] },
      },
      ['node-full at n'],
    ],
    [
      'a cordoned node',
      {
        pods: pods(1),
        placements: [placement('n', ['p-0'])],
        snapshot: { nodes: [nodeOf('n', { cordoned: true })] },
      },
      ['node-cordoned at n'],
    ],
    [
      'a node that does not exist',
      { pods: pods(1), placements: [placement('n', ['p-0'])] },
      ['unknown-node at n'],
    ],
    [
      'a taint',
      {
        pods: pods(1),
        newNodes: [bin('b', ['p-0'])],
        snapshot: withPool({ taints: [{ key: 'x', effect: 'NoSchedule' }] }),
      },
      ['taint-not-tolerated at b'],
    ],
    [
      'a selector that one of the options does not meet',
      {
        pods: pods(1, { nodeSelector: { [zoneKey]: 'a' } }),
        newNodes: [bin('b', ['p-0'], { options: [option('m.2', 'a'), option('m.2', 'b')] })],
      },
      ['requirement-mismatch at b'],
    ],
    [
      'an option outside the pool',
      {
        pods: pods(1),
        newNodes: [bin('b', ['p-0'])],
        snapshot: withPool({ requirements: [{ key: zoneKey, operator: 'In', values: ['b'] }] }),
      },
      ['requirement-mismatch at b'],
    ],
    [
      'an option outside the claim',
      {
        pods: pods(1),
        newNodes: [
          bin('b', ['p-0'], { requirements: [{ key: zoneKey, operator: 'In', values: ['b'] }] }),
        ],
      },
      ['requirement-mismatch at b'],
    ],
    [
      'a type that the pool does not have',
      { pods: pods(1), newNodes: [bin('b', ['p-0'], { options: [option('x.1', 'a')] })] },
      ['no-offering at b'],
    ],
    [
      'too many types',
      {
        pods: pods(1),
        newNodes: [bin('b', ['p-0'], { options: [option('m.2', 'a'), option('m.4', 'a')] })],
        options: { instanceTypesMax: 1 },
      },
      ['no-offering at b'],
    ],
    [
      'an offering without capacity',
      {
        pods: pods(1),
        newNodes: [bin('b', ['p-0'])],
        snapshot: {
          pools: [
            {
              pool: poolOf('default'),
              instanceTypes: types.map((type) => ({
                ...type,
                offerings: type.offerings.map((one) => ({ ...one, available: false })),
              })),
            },
          ],
        },
      },
      ['no-capacity at b'],
    ],
    [
      'a host port twice',
      { pods: pods(2, { hostPorts: [port] }), newNodes: [bin('b', ['p-0', 'p-1'])] },
      ['host-port at b'],
    ],
    [
      'a host port of a daemonset',
      {
        pods: pods(1, { hostPorts: [port] }),
        newNodes: [bin('b', ['p-0'])],
        snapshot: { daemonSets: [daemonSetOf('d', { hostPorts: [port] })] },
      },
      ['host-port at b'],
    ],
    [
      'a volume claim that is not there',
      { pods: pods(1, { volumes: [{ claimName: 'v' }] }), newNodes: [bin('b', ['p-0'])] },
      ['volume at b'],
    ],
    [
      'too few values for minValues',
      {
        pods: pods(1),
        newNodes: [bin('b', ['p-0'])],
        snapshot: withPool({
          requirements: [{ key: typeKey, operator: 'Exists', values: [], minValues: 2 }],
        }),
      },
      ['min-values at b'],
    ],
    [
      'a pool that is gone',
      { pods: pods(1), newNodes: [bin('b', ['p-0'], { pool: { kind: 'NodePool', name: 'x' } })] },
      ['no-pools at b'],
    ],
    [
      'a pool that is not ready',
      { pods: pods(1), newNodes: [bin('b', ['p-0'])], snapshot: withPool({ ready: false }) },
      ['pool-not-ready at b'],
    ],
    [
      'a static pool',
      { pods: pods(1), newNodes: [bin('b', ['p-0'])], snapshot: withPool({ replicas: 1 }) },
      ['pool-static at b'],
    ],
    [
      'a pool on its way out',
      { pods: pods(1), newNodes: [bin('b', ['p-0'])], snapshot: withPool({ deletionMs: 1 }) },
      ['pool-deleting at b'],
    ],
  ])('%s', (_, made, expected) => expect(found(made)).toEqual(expected));
});

describe('one bin by itself', () => {
  const spreadOut = pods(2, { topologySpread: [spread(zoneKey)] });
  const bins = [bin('b', ['p-0']), bin('c', ['p-1'], inZone('b'))];
  const empty = nodeOf('n', { cordoned: true, labels: { [zoneKey]: 'c' } });
  const judge = (one: NewNode, beside: readonly NewNode[]): readonly string[] =>
    checkBin(
      worldOf({ pods: [], snapshot: { nodes: [empty] } }),
      { bin: one, pods: spreadOut, beside: { newNodes: beside, placements: [] } },
      defaultPlanOptions,
    ).map((each) => `${each.code} at ${each.where}`);
  test('is judged with what is to happen beside it, and answers for itself only', () => {
    const crowded = bin('d', ['p-0', 'p-1']);
    expect([judge(bins[0] as NewNode, bins), judge(crowded, [])]).toEqual([
      [],
      ['topology-spread at d'],
    ]);
  });
  test('whose pods are gone is refused by their names', () =>
    expect(
      checkBin(
        worldOf({ pods: [] }),
        { bin: bin('b', ['ghost']), pods: [], beside: { newNodes: [], placements: [] } },
        defaultPlanOptions,
      ),
    ).toMatchObject([{ code: 'unknown-pod', where: 'ghost' }]));
});
