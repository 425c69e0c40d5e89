import type { Pool } from '@dovetail/core-api';
import type { InstanceType } from '@dovetail/core-ec2-model';
import { present } from '@dovetail/core-invariant';
import type { Pod } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { compose } from '../compose/compose.js';
import { defaultPlanOptions } from '../options.js';
import { Engine } from '../rooms/engine.js';
import type { ExistingNode, PlanOptions } from '../snapshot.js';
import {
  gibibytes,
  nodeOf,
  offeringOf,
  podOf,
  podsOf,
  poolOf,
  snapshotOf,
  typeOf,
} from '../testing/objects.js';
import { asking, typesBy } from '../testing/packing.js';
import { familyTypes } from '../testing/worlds.js';
import { worldOf } from '../world/world.js';
import { accountReason } from './limits.js';

fc.configureGlobal({ seed: 1 });

const types = typesBy([2, 8, 100], [4, 16, 200], [8, 32, 400]);
const typeKey = 'node.kubernetes.io/instance-type';
const zoneKey = 'topology.kubernetes.io/zone';

type Over = {
  readonly instanceTypes?: readonly InstanceType[];
  readonly nodes?: readonly ExistingNode[];
  readonly options?: Partial<PlanOptions>;
  /** Pods that are planned before the one that is asked about. */
  readonly before?: readonly Pod[];
};
/** Returns the reason why the pool may buy no node for a pod. */
function reasonFor(pod: Partial<Pod>, pool: Partial<Pool>, over: Over = {}) {
  const { instanceTypes = types, nodes = [], options = {}, before = [] } = over;
  const world = worldOf(
    snapshotOf({ pools: [{ pool: poolOf('default', pool), instanceTypes }], nodes }),
    [...before, podOf('asked', { createdMs: 9, ...pod })],
    { ...defaultPlanOptions, ...options },
  );
  // On its own, the pod is asked about before it has taken anything.
  const { engine } = before.length === 0 ? { engine: new Engine(world) } : compose(world);
  const cls = present(
    world.classes.find(({ uids }) => uids.includes('asked')),
    'the pod has a class',
  );
  const template = present(world.templates[0], 'the pool is open');
  const shape = present(cls.levels[0]?.shapes[0], 'the pod has a shape');
  const state = present(
    world.states.after(world.states.root(template), shape),
    'the pool has types for the pod',
  );
  return accountReason(engine, state, cls);
}
const variety = (key: string, minValues: number): Partial<Pool> => ({
  requirements: [{ key, operator: 'Exists', values: [], minValues }],
});
const mine = (cores: number, over: Partial<ExistingNode> = {}): ExistingNode =>
  nodeOf(`mine-${cores}`, {
    poolKey: 'NodePool/default',
    cordoned: true,
    capacity: { cpu: cores * 1000, memory: gibibytes(4 * cores), pods: 110 },
    ...over,
  });

describe('a limit of the pool', () => {
  test.each<[string, ReturnType<typeof reasonFor>, Record<string, string>, string]>([
    [
      'leaves nothing',
      reasonFor(asking(1, 1), { limits: { cpu: 0 } }),
      { limit: 'cpu=0', left: '0', smallest: '2' },
      'to 2',
    ],
    [
      'leaves too little, beside nodes that exist',
      reasonFor(asking(3, 1), { limits: { cpu: 9000 } }, { nodes: [mine(6)] }),
      { limit: 'cpu=9', left: '3', smallest: '4' },
      'to 10',
    ],
    [
      'is passed already, and says so as nothing left',
      reasonFor(asking(1, 1), { limits: { cpu: 4000 } }, { nodes: [mine(6)] }),
      { limit: 'cpu=4', left: '0', smallest: '2' },
      'to 8',
    ],
    [
      'is about memory',
      reasonFor(asking(1, 1), { limits: { memory: gibibytes(7), cpu: 99_000 } }),
      { limit: 'memory=7Gi', left: '7Gi', smallest: '8Gi' },
      'to 8Gi',
    ],
    [
      'is about nodes',
      reasonFor(asking(1, 1), { limits: { nodes: 1 } }, { nodes: [mine(2)] }),
      { limit: 'nodes=1', left: '0', smallest: '1' },
      'to 2',
    ],
    [
      'was used up by this plan',
      reasonFor(
        asking(3, 1),
        { limits: { cpu: 4000 } },
        { before: podsOf('web', 1, asking(4, 1)) },
      ),
      { limit: 'cpu=4', left: '0', smallest: '4', by: 'default/web-0' },
      'to 8',
    ],
  ])('%s', (_, reason, values, to) => {
    expect(reason).toMatchObject({ code: 'pool-limit', subject: 'NodePool/default', values });
    expect(reason?.remedy).toMatch(new RegExp(`${to}$`));
    expect(reason?.fell?.count).toBe(reason?.fell?.of);
  });

  test('and another are each kept by some node, and both by none', () => {
    const wide = typesBy([2, 32, 100], [8, 8, 100]);
    const reason = reasonFor(
      asking(1, 1),
      { limits: { cpu: 4000, memory: gibibytes(16) } },
      { instanceTypes: wide },
    );
    expect(reason).toMatchObject({ code: 'pool-limit', values: { left: '4 cpu, 16Gi memory' } });
  });
});

describe('a pool that demands variety', () => {
  test.each<[string, ReturnType<typeof reasonFor>, Record<string, string>]>([
    [
      'has too few types for the pod',
      reasonFor(asking(3, 1), variety(typeKey, 3)),
      { key: typeKey, wanted: '3', possible: '2' },
    ],
    [
      'has too few types that one node may name',
      reasonFor(asking(1, 1), variety(typeKey, 3), { options: { instanceTypesMax: 2 } }),
      { key: typeKey, wanted: '3', possible: '2' },
    ],
    [
      'has too few types of one name for the pod',
      reasonFor({ nodeSelector: { [typeKey]: types[0]?.name ?? '' } }, variety(typeKey, 2)),
      { key: typeKey, wanted: '2', possible: '1' },
    ],
    [
      'asks for values of a label that types do not have',
      reasonFor(
        {},
        { requirements: [{ key: 'team', operator: 'In', values: ['a', 'b'], minValues: 2 }] },
      ),
      { key: 'team', wanted: '2', possible: '0' },
    ],
  ])('%s', (_, reason, values) =>
    expect(reason).toMatchObject({
      code: 'min-values',
      subject: 'NodePool/default',
      values,
      remedy: expect.stringContaining(`to ${values['possible']}`),
    }),
  );
});

describe('nothing is said', () => {
  test.each<[string, ReturnType<typeof reasonFor>]>([
    ['of a pool without limits', reasonFor(asking(1, 1), {})],
    ['of a limit that leaves enough', reasonFor(asking(1, 1), { limits: { cpu: 2000 } })],
    [
      'of a limit that only a larger node would pass',
      reasonFor(asking(1, 1), { limits: { cpu: 3000 } }),
    ],
    [
      'of nodes that are on their way out',
      reasonFor(
        asking(1, 1),
        { limits: { cpu: 4000 } },
        { nodes: [mine(4, { state: 'deleting' })] },
      ),
    ],
    ['of variety that is there', reasonFor(asking(3, 1), variety(typeKey, 2))],
    [
      'of variety that is only wished for',
      reasonFor(asking(3, 1), variety(typeKey, 3), { options: { minValuesPolicy: 'BestEffort' } }),
    ],
  ])('%s', (_, reason) => expect(reason).toBeUndefined());

  test('but of zones that the pod does not allow, although the types are sold there', () => {
    const bound = reasonFor({ nodeSelector: { [zoneKey]: 'zone-a' } }, variety(zoneKey, 2), {
      instanceTypes: familyTypes(),
    });
    expect(bound).toMatchObject({
      code: 'min-values',
      values: { key: zoneKey, wanted: '2', possible: '1' },
    });
  });
});

test.each<[PlanOptions['reservedOfferings'], string | undefined]>([
  ['Strict', 'reserved-capacity'],
  ['Fallback', undefined],
])('with the policy %s, a reservation that others took is the reason: %s', (policy, code) => {
  const reserved = typeOf({
    name: 'reserved',
    cpuMillis: 4000,
    memoryBytes: gibibytes(16),
    offerings: [
      offeringOf('zone-a', 'reserved', 0, { reservation: { id: 'cr', remaining: 1 } }),
      offeringOf('zone-a', 'on-demand', 300),
    ],
  });
  const reason = reasonFor(
    asking(3, 1),
    {},
    {
      instanceTypes: [reserved],
      before: [podOf('web', asking(4, 1))],
      options: { reservedOfferings: policy },
    },
  );
  expect(reason?.code).toBe(code);
  if (code !== undefined) expect(reason?.values).toEqual({ by: 'default/web' });
});

describe('a remedy is enough, and no more than enough', () => {
  test('to raise a limit', () =>
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 20 }),
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 0, max: 20 }),
        (limit, cores, used) => {
          const nodes = used === 0 ? [] : [mine(used)];
          const reasonWith = (cpu: number) =>
            reasonFor(asking(cores, 1), { limits: { cpu: cpu * 1000 } }, { nodes });
          const reason = reasonWith(limit);
          if (reason === undefined) return;
          const raised = Number(/ to (\d+)$/.exec(reason.remedy ?? '')?.[1]);
          expect(raised).toBeGreaterThan(limit);
          expect(reasonWith(raised)).toBeUndefined();
          expect(reasonWith(raised - 1)?.code).toBe('pool-limit');
        },
      ),
    ));

  test('to lower minValues', () =>
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 1, max: 5 }),
        (cores, minValues) => {
          const reasonWith = (count: number) =>
            reasonFor(asking(cores, 1), variety(typeKey, count));
          const reason = reasonWith(minValues);
          if (reason === undefined) return;
          const possible = Number(reason.values['possible']);
          expect(reasonWith(possible)).toBeUndefined();
          expect(reasonWith(possible + 1)?.code).toBe('min-values');
        },
      ),
    ));
});
