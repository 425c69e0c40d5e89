import type { Pool } from '@dovetail/core-api';
import type { Pod, RequirementSpec } from '@dovetail/core-kube-model';
import { expect, test } from 'vitest';

import {
  gibibytes,
  mebibytes,
  nodeOf,
  offeringOf,
  podsOf,
  poolOf,
  selecting,
  typeOf,
} from './testing/objects.js';
import { planScenario, type Scenario } from './testing/scenario.js';
import { hostKey, spread, term, zoneKey } from './testing/topology.js';

// Small plans of which no order of the pods by size is the best. Each row is a world in which
// Karpenter's scheduler, whose ties are random, found the plan that is expected here.

const capacityKey = 'karpenter.sh/capacity-type';
const zones = ['a', 'b', 'c'] as const;

const within = (key: string, ...values: readonly string[]): RequirementSpec => ({
  key,
  operator: 'In',
  values,
});
const inZones = (...names: readonly string[]) => within(zoneKey, ...names);
const spot = within(capacityKey, 'spot');
const onDemand = within(capacityKey, 'on-demand');
const large = within('node.kubernetes.io/instance-type', 'm-8');
const pool = (name: string, over: Partial<Pool>, ...requirements: readonly RequirementSpec[]) =>
  poolOf(name, { ...over, requirements });

/** Types in three zones; spot nodes cost half. */
const types = [
  { name: 'c-2', cores: 2, memory: 4, price: 80 },
  { name: 'm-2', cores: 2, memory: 8, price: 100 },
  { name: 'm-4', cores: 4, memory: 16, price: 200 },
  { name: 'm-8', cores: 8, memory: 32, price: 400 },
].map(({ name, cores, memory, price }) =>
  typeOf({
    name,
    cpuMillis: cores * 1000,
    memoryBytes: gibibytes(memory),
    overhead: { cpu: 100, memory: 0 },
    offerings: zones.flatMap((zone) => [
      offeringOf(zone, 'on-demand', price),
      offeringOf(zone, 'spot', price / 2),
    ]),
  }),
);

const pods = (
  app: string,
  count: number,
  size: { readonly cpu: number; readonly memoryMib: number } & Partial<Pod>,
): readonly Pod[] => {
  const { cpu, memoryMib, ...rules } = size;
  return podsOf(app, count, {
    labels: { app },
    requests: { cpu, memory: mebibytes(memoryMib) },
    ...rules,
  });
};
const node = (name: string, cores: number, zone: string) => {
  const capacity = { ...nodeOf(name).capacity, cpu: cores * 1000 };
  const labels = { [zoneKey]: zone, [capacityKey]: 'on-demand' };
  return nodeOf(name, { capacity, allocatable: capacity, labels });
};

const spreadOf = (
  app: string,
  key: string,
  whenUnsatisfiable: 'DoNotSchedule' | 'ScheduleAnyway' = 'DoNotSchedule',
) => spread(key, { selector: selecting({ app }), whenUnsatisfiable });
const runs = pods('x', 1, { cpu: 200, memoryMib: 64, phase: 'Running' }).map((pod) => ({
  ...pod,
  uid: 'running',
}));

test.each<[string, Omit<Scenario, 'types'>, number, number]>([
  [
    'a pod that may be in any zone joins pods that are bound to one',
    {
      pools: [pool('default', {}, inZones(...zones), onDemand)],
      pods: [
        ...pods('v', 1, {
          cpu: 400,
          memoryMib: 1024,
          requiredPodAntiAffinity: [term(zoneKey, 'x')],
        }),
        ...pods('w', 6, { cpu: 400, memoryMib: 1024, nodeSelector: { [zoneKey]: 'b' } }),
      ],
    },
    0,
    160,
  ],
  [
    'pods that share no zone with others take turns with them',
    {
      pools: [pool('default', {}, inZones('b'), onDemand)],
      snapshot: {
        nodes: [node('n0', 1, 'a'), { ...node('n1', 2, 'b'), pods: runs }, node('n2', 2, 'a')],
      },
      pods: [
        ...pods('v', 6, { cpu: 100, memoryMib: 3072, requiredPodAffinity: [term(zoneKey, 'w')] }),
        ...pods('w', 6, { cpu: 100, memoryMib: 1024, topologySpread: [spreadOf('w', hostKey)] }),
        ...pods('x', 4, {
          cpu: 100,
          memoryMib: 1024,
          requiredPodAntiAffinity: [term(zoneKey, 'w')],
          topologySpread: [spreadOf('x', zoneKey)],
        }),
      ],
    },
    2,
    400,
  ],
  [
    'a preference is given up where it leaves no place for other pods',
    {
      pools: [pool('default', {}, inZones('b'), spot, large)],
      snapshot: { nodes: [node('n0', 2, 'b'), node('n1', 4, 'a')] },
      pods: [
        ...pods('v', 2, {
          cpu: 100,
          memoryMib: 3072,
          requiredPodAntiAffinity: [term(zoneKey, 'x')],
          topologySpread: [spreadOf('v', hostKey, 'ScheduleAnyway')],
        }),
        ...pods('x', 6, { cpu: 900, memoryMib: 64 }),
      ],
    },
    0,
    200,
  ],
  [
    'a large node that others need takes pods that a small one is cheaper for',
    {
      pools: [
        pool('small', { limits: { cpu: 4000 } }, inZones(...zones)),
        pool('large', {}, inZones('a', 'c'), spot, large),
      ],
      pods: [
        ...pods('v', 1, { cpu: 1800, memoryMib: 1024 }),
        ...pods('w', 4, { cpu: 400, memoryMib: 1024 }),
        ...pods('x', 4, { cpu: 900, memoryMib: 256 }),
      ],
    },
    0,
    200,
  ],
  [
    'the nodes that a limit allows hold as many pods as another order places',
    {
      pools: [pool('default', { limits: { cpu: 4000 } }, inZones(...zones))],
      snapshot: { nodes: [{ ...node('n0', 1, 'c'), pods: runs }] },
      pods: [
        ...pods('v', 6, { cpu: 100, memoryMib: 3072 }),
        ...pods('w', 6, { cpu: 100, memoryMib: 256 }),
        ...pods('x', 6, {
          cpu: 1800,
          memoryMib: 64,
          requiredPodAntiAffinity: [term(zoneKey, 'x')],
          topologySpread: [spreadOf('x', capacityKey)],
        }),
      ],
    },
    5,
    80,
  ],
])('%s', (_, scenario, left, price) => {
  const made = planScenario({ ...scenario, types, options: { stepsMax: 0 } });
  expect([made.unplaced.length, made.priceMicrosPerHour]).toEqual([left, price]);
});
