import {
  admits,
  type NodeSelectorTerm,
  type Pod,
  requirementsOf,
  type RequirementSpec,
} from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { defaultPlanOptions } from '../options.js';
import type { PlanOptions, Snapshot } from '../snapshot.js';
import {
  daemonSetOf,
  gibibytes,
  mebibytes,
  nodeOf,
  offeringOf,
  podOf,
  podsOf,
  poolOf,
  snapshotOf,
  typeOf,
} from '../testing/objects.js';
import { rules } from '../testing/packing.js';
import { mixedWorld } from '../testing/worlds.js';
import { worldOf } from '../world/world.js';
import { compose } from './compose.js';
import { finish } from './finish.js';
import { buildInSequence } from './sequence.js';

fc.configureGlobal({ seed: 1 });

const types = [2, 4].map((cores) =>
  typeOf({
    name: `m.${cores}`,
    cpuMillis: cores * 1000,
    memoryBytes: gibibytes(cores * 4),
    offerings: ['zone-a', 'zone-b'].map((zone) => offeringOf(zone, 'on-demand', cores * 100)),
  }),
);
const zoneKey = 'topology.kubernetes.io/zone';
const cores = (count: number): Partial<Pod> => ({ requests: { cpu: count * 1000, memory: 1 } });

/** Returns the plan's parts for pods that are placed class by class. */
function finished(
  pods: readonly Pod[],
  over: { readonly snapshot?: Partial<Snapshot>; readonly options?: Partial<PlanOptions> } = {},
) {
  const snapshot = snapshotOf({
    pools: [{ pool: poolOf('default'), instanceTypes: types }],
    ...over.snapshot,
  });
  const world = worldOf(snapshot, pods, { ...defaultPlanOptions, ...over.options });
  return { world, ...finish(buildInSequence(world)) };
}
const withPool = (over: Parameters<typeof poolOf>[1]): Partial<Snapshot> => ({
  pools: [{ pool: poolOf('default', over), instanceTypes: types }],
});
const demanding = (...matchExpressions: readonly RequirementSpec[]): Partial<Pod> =>
  matchExpressions.length === 0
    ? {}
    : { requiredNodeAffinity: [{ matchExpressions, matchFields: [] } satisfies NodeSelectorTerm] };

describe('what is written out', () => {
  test('is nothing for nothing', () =>
    expect(finished([])).toMatchObject({ newNodes: [], placements: [] }));

  test('has no node that stayed empty, and numbers the others in their order', () => {
    const { newNodes, placements } = finished(podsOf('p', 3, cores(4)), {
      snapshot: { nodes: [nodeOf('empty', { cordoned: true }), nodeOf('full')] },
    });
    expect(
      placements.map(({ nodeName, nodeUid, podUids }) => [nodeName, nodeUid, podUids]),
    ).toEqual([['full', 'node-full', ['p-0']]]);
    expect(newNodes.map(({ id, podUids }) => [id, podUids])).toEqual([
      ['bin-0', ['p-1']],
      ['bin-1', ['p-2']],
    ]);
  });

  test('leaves over the youngest pods of a class', () => {
    const pods = ['young', 'old', 'older'].map((uid, index) =>
      podOf(uid, { ...cores(4), createdMs: 9 - index }),
    );
    const { newNodes, restOf } = finished(pods, { snapshot: withPool({ limits: { nodes: 1 } }) });
    expect(newNodes.map(({ podUids }) => podUids)).toEqual([['older']]);
    expect(restOf(0)).toEqual(['old', 'young']);
    expect(restOf(7)).toEqual([]);
  });

  test('names every offer that holds the node, cheapest first, and claims no others', () => {
    const [node] = finished([podOf('p', cores(3))]).newNodes;
    expect(node?.options).toEqual([
      { instanceType: 'm.4', zone: 'zone-a', capacityType: 'on-demand', priceMicrosPerHour: 400 },
      { instanceType: 'm.4', zone: 'zone-b', capacityType: 'on-demand', priceMicrosPerHour: 400 },
    ]);
    const claimed = Object.fromEntries(
      (node?.requirements ?? []).map(({ key, operator, values }) => [key, [operator, values]]),
    );
    expect(claimed).toMatchObject({
      'node.kubernetes.io/instance-type': ['In', ['m.4']],
      [zoneKey]: ['In', ['zone-a', 'zone-b']],
      'karpenter.sh/capacity-type': ['In', ['on-demand']],
    });
  });

  test('names the reservation of a node in one', () => {
    const reservation = { id: 'cr-1', remaining: 1 };
    const reserved = typeOf({
      name: 'r.2',
      cpuMillis: 2000,
      memoryBytes: gibibytes(8),
      offerings: [offeringOf('zone-a', 'reserved', 0, { reservation })],
    });
    const pools = [{ pool: poolOf('default'), instanceTypes: [...types, reserved] }];
    expect(finished([podOf('p')], { snapshot: { pools } }).newNodes[0]?.options).toEqual([
      {
        instanceType: 'r.2',
        zone: 'zone-a',
        capacityType: 'reserved',
        priceMicrosPerHour: 0,
        reservationId: 'cr-1',
      },
    ]);
  });

  test('counts pods and the least that daemonsets take on any of the types', () => {
    const daemonSets = [
      daemonSetOf('everywhere', { requests: { cpu: 100, memory: mebibytes(10) } }),
      daemonSetOf('on-large-types', {
        requests: { cpu: 500, memory: mebibytes(10) },
        nodeSelector: { 'node.kubernetes.io/instance-type': 'm.4' },
      }),
    ];
    const requestsOf = (count: number) =>
      finished([podOf('p', cores(count))], { snapshot: { daemonSets } }).newNodes[0]?.requests;
    expect(requestsOf(1)).toMatchObject({ cpu: 1100, pods: 2 });
    expect(requestsOf(3)).toMatchObject({ cpu: 3600, pods: 3 });
  });

  test('names the spread and affinity groups that a node relies on, each once, in order', () => {
    const pods = [...podsOf('w', 2, rules.spread('web')), ...podsOf('d', 1, rules.apart('db'))];
    const made = finished(pods);
    const groups = made.newNodes.flatMap(({ topologyGroups }) => topologyGroups);
    expect(new Set(groups)).toEqual(new Set(made.world.groups.groups.map(({ text }) => text)));
    for (const { topologyGroups } of made.newNodes)
      expect(topologyGroups).toEqual([...new Set(topologyGroups)].sort());
    expect(finished([podOf('p')]).newNodes[0]?.topologyGroups).toEqual([]);
  });

  test.each<[PlanOptions['minValuesPolicy'], readonly boolean[]]>([
    ['Strict', []],
    ['BestEffort', [true]],
  ])('with the policy %s, nodes of too few types are relaxed: %j', (policy, relaxed) => {
    const snapshot = withPool({
      requirements: [
        { key: 'node.kubernetes.io/instance-type', operator: 'Exists', values: [], minValues: 2 },
      ],
    });
    const { newNodes } = finished([podOf('p', cores(3))], {
      snapshot,
      options: { minValuesPolicy: policy },
    });
    expect(newNodes.map(({ minValuesRelaxed }) => minValuesRelaxed)).toEqual(relaxed);
  });
});

describe('the labels of a claim', () => {
  const labelled = (pod: Partial<Pod>, pool: Parameters<typeof poolOf>[1] = {}) =>
    finished([podOf('p', pod)], { snapshot: withPool(pool) }).newNodes[0]?.labels;
  const slot = (operator: RequirementSpec['operator'], ...values: string[]): RequirementSpec => ({
    key: 'slot',
    operator,
    values,
  });
  const open = { requirements: [slot('Exists')] };

  test('are those of its pool, and the name of the pool', () =>
    expect(labelled({}, { labels: { team: 'blue' } })).toEqual({
      team: 'blue',
      'karpenter.sh/nodepool': 'default',
    }));

  test.each<[string, readonly RequirementSpec[], string]>([
    ['that pods name', [slot('In', 'b')], 'b'],
    ['of several that pods allow: the first', [slot('In', 'b', 'a')], 'a'],
    ['that nobody names: 0', [], '0'],
    ['that is not 0', [slot('NotIn', '0')], '1'],
    ['above a number', [slot('Gt', '5')], '6'],
    ['below a number', [slot('Lt', '5')], '0'],
    ['above a number that is excluded', [slot('Gt', '5'), slot('NotIn', '6', '7')], '8'],
    [
      'within bounds of which each number is excluded: another spelling',
      [slot('Gt', '0'), slot('Lt', '3'), slot('NotIn', '1', '2', '01')],
      '001',
    ],
  ])('have a value for an open label %s', (_, wanted, value) =>
    expect(labelled(demanding(...wanted), open)).toMatchObject({ slot: value }),
  );

  test.each<[string, RequirementSpec]>([
    ['below zero', slot('Lt', '0')],
    ['above every number that can be told apart', slot('Gt', '99999999999999999999999')],
    ['above the last of them', slot('Gt', String(Number.MAX_SAFE_INTEGER))],
  ])('cannot have a number %s: the pod is left over', (_, wanted) => {
    const { newNodes, restOf } = finished([podOf('p', demanding(wanted))], {
      snapshot: withPool(open),
    });
    expect([newNodes, restOf(0)]).toEqual([[], ['p']]);
  });
});

describe('in any world', () => {
  const anySeed = fc.integer({ min: 1, max: 10_000 });
  const ofWorld = (seed: number) => {
    const { snapshot, pods, options } = mixedWorld(seed);
    const world = worldOf(snapshot, pods, options);
    const outcome = compose(world);
    return { pods, world, outcome, made: finish(outcome) };
  };

  test('each pod is written out once: on a node, in a placement or left over', () =>
    fc.assert(
      fc.property(anySeed, (seed) => {
        const { pods, world, made } = ofWorld(seed);
        const written = [
          ...made.newNodes.flatMap(({ podUids }) => podUids),
          ...made.placements.flatMap(({ podUids }) => podUids),
          ...world.classes.flatMap(({ index }) => made.restOf(index)),
        ];
        expect(written.toSorted()).toEqual(pods.map(({ uid }) => uid).toSorted());
      }),
      { numRuns: 25 },
    ));

  test('the requests of a node are those of its pods, and no less than daemonsets add', () =>
    fc.assert(
      fc.property(anySeed, (seed) => {
        const { pods, made } = ofWorld(seed);
        const byUid = new Map(pods.map((pod) => [pod.uid, pod]));
        for (const { requests, podUids } of made.newNodes)
          for (const name of ['cpu', 'memory', 'pods']) {
            const own = podUids.reduce(
              (sum, uid) => sum + (byUid.get(uid)?.requests[name] ?? 0),
              0,
            );
            expect(requests[name]).toBeGreaterThanOrEqual(own);
          }
      }),
      { numRuns: 25 },
    ));

  test('the claim allows each of its options, and its labels', () =>
    fc.assert(
      fc.property(anySeed, (seed) => {
        for (const { options, requirements, labels } of ofWorld(seed).made.newNodes) {
          const claim = requirementsOf(requirements);
          const allows = (key: string, value: string): boolean => {
            const set = claim.get(key);
            return set === undefined || admits(set, value);
          };
          for (const { instanceType, zone, capacityType } of options)
            expect([
              allows('node.kubernetes.io/instance-type', instanceType),
              allows(zoneKey, zone),
              allows('karpenter.sh/capacity-type', capacityType),
            ]).toEqual([true, true, true]);
          for (const [key, value] of Object.entries(labels))
            expect({ seed, key, value, allowed: allows(key, value) }).toMatchObject({
              allowed: true,
            });
        }
      }),
      { numRuns: 25 },
    ));

  test('each node is priced as the engine prices it', () =>
    fc.assert(
      fc.property(anySeed, (seed) => {
        const { outcome, made } = ofWorld(seed);
        const filled = outcome.engine.fresh.filter(({ contents }) => contents.size > 0);
        expect(made.newNodes.map(({ options }) => options[0]?.priceMicrosPerHour)).toEqual(
          filled.map((bin) => outcome.engine.priceOf(bin)),
        );
      }),
      { numRuns: 25 },
    ));
});
