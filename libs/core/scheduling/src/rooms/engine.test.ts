import { present } from '@dovetail/core-invariant';
import { type Pod, requirementsOf } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { defaultPlanOptions } from '../options.js';
import type { ExistingNode, PlanOptions, Snapshot } from '../snapshot.js';
import {
  daemonSetOf,
  gibibytes,
  nodeOf,
  offeringOf,
  podOf,
  podsOf,
  poolOf,
  snapshotOf,
  typeOf,
} from '../testing/objects.js';
import { rules, workloadPods, workloadsOf } from '../testing/packing.js';
import { boundTo, claimOf, volumeOf } from '../testing/storage.js';
import { rolesOf } from '../topology/roles.js';
import { worldOf } from '../world/world.js';
import type { Bin } from './bin.js';
import { Engine } from './engine.js';
import { type Item, ItemTable } from './items.js';

fc.configureGlobal({ seed: 1 });

const zoneKey = 'topology.kubernetes.io/zone';
const types = [2, 4].map((cores) =>
  typeOf({
    name: `m.${cores}`,
    cpuMillis: cores * 1000,
    memoryBytes: gibibytes(cores * 4),
    offerings: ['zone-a', 'zone-b'].map((zone) => offeringOf(zone, 'on-demand', cores * 100)),
  }),
);
const port = { ip: '', port: 80, protocol: 'TCP' as const };
const cores = (count: number): Partial<Pod> => ({ requests: { cpu: count * 1000, memory: 1 } });

type Over = { readonly snapshot?: Partial<Snapshot>; readonly options?: Partial<PlanOptions> };
/** An engine for these pods, and an item of each class that is pinned to no domain. */
function stage(pods: readonly Pod[], over: Over = {}) {
  const snapshot = snapshotOf({
    pools: [{ pool: poolOf('default'), instanceTypes: types }],
    ...over.snapshot,
  });
  const world = worldOf(snapshot, pods, { ...defaultPlanOptions, ...over.options });
  const table = new ItemTable();
  const items = world.classes.flatMap((cls): readonly Item[] => {
    const [level] = cls.levels;
    const [shape] = level?.shapes ?? [];
    return level === undefined || shape === undefined
      ? []
      : [table.intern({ cls, level: 0, roles: rolesOf(cls, level), shape, pins: [] })];
  });
  const itemOf = (uid: string): Item =>
    present(
      items.find(({ cls }) => cls.uids.includes(uid)),
      'the pod has an item',
    );
  const engine = new Engine(world);
  const template = present(world.templates[0], 'there is a pool');
  return { engine, itemOf, template };
}
type Stage = ReturnType<typeof stage>;
const firstOf = ({ engine }: Stage): Bin => present(engine.existing[0], 'there is a node');
const opened = ({ engine, template, itemOf }: Stage, uid: string): Bin =>
  engine.open(present(engine.openingFor(template, itemOf(uid)), 'a node can be opened'));

describe('the room on an existing node', () => {
  const roomFor = (
    pods: readonly Pod[],
    node: Partial<ExistingNode>,
    over: Partial<Snapshot> = {},
  ) => {
    const made = stage(pods, { snapshot: { nodes: [nodeOf('n', node)], ...over } });
    return made.engine.roomOnNode(firstOf(made), made.itemOf('p-0'));
  };
  const volumes = (names: readonly string[], limit: number): Partial<Snapshot> => ({
    persistentVolumes: names.map((name) => volumeOf(name)),
    persistentVolumeClaims: names.map((name) => claimOf(name, boundTo(name))),
    csiNodes: [{ uid: 'c', name: 'n', resourceVersion: '1', limits: { 'ebs.csi.aws.com': limit } }],
  });
  const open: Partial<ExistingNode> = {
    state: 'in-flight',
    requirements: requirementsOf([{ key: zoneKey, operator: 'In', values: ['zone-a', 'zone-b'] }]),
  };
  const inZones = (...values: readonly string[]): Partial<Pod> => ({
    requiredNodeAffinity: [
      { matchExpressions: [{ key: zoneKey, operator: 'In', values }], matchFields: [] },
    ],
  });
  test.each<[string, number, number]>([
    ['is none for pods that are too large', roomFor(podsOf('p', 9, cores(5)), {}), 0],
    [
      'is none for pods that do not tolerate its taint',
      roomFor(podsOf('p', 9), { taints: [{ key: 'x', effect: 'NoExecute' }] }),
      0,
    ],
    [
      'is none for pods that ask for another label',
      roomFor(podsOf('p', 9, { nodeSelector: { team: 'x' } }), {}),
      0,
    ],
    [
      'is none where a claim may still become what pods do not allow',
      roomFor(podsOf('p', 9, { ...cores(1), ...inZones('zone-a') }), open),
      0,
    ],
    [
      'is there where pods allow everything that a claim may become',
      roomFor(podsOf('p', 9, { ...cores(1), ...inZones('zone-a', 'zone-b', 'zone-c') }), open),
      4,
    ],
    [
      'is none for a host port that is taken',
      roomFor(podsOf('p', 9, { hostPorts: [port] }), { pods: [podOf('r', { hostPorts: [port] })] }),
      0,
    ],
    ['is one for pods with a host port', roomFor(podsOf('p', 9, { hostPorts: [port] }), {}), 1],
    ['is one for pods that are apart', roomFor(podsOf('p', 9, rules.apart('w')), {}), 1],
    [
      'is what resources leave',
      roomFor(podsOf('p', 9, cores(1)), { pods: [podOf('r', cores(2))] }),
      2,
    ],
    [
      'is what is left of its attachments',
      roomFor(
        podsOf('p', 9, { volumes: [{ claimName: 'v', ephemeral: {} }] }),
        {},
        {
          ...volumes([], 2),
          storageClasses: [
            {
              uid: 's',
              name: 's',
              resourceVersion: '1',
              createdMs: 0,
              isDefault: true,
              provisioner: 'ebs.csi.aws.com',
              bindingMode: 'WaitForFirstConsumer',
            },
          ],
        },
      ),
      2,
    ],
    [
      'is not taken twice by a volume that pods share',
      roomFor(
        podsOf('p', 9, { ...cores(0.5), volumes: [{ claimName: 'v' }] }),
        {},
        volumes(['v'], 1),
      ),
      8,
    ],
  ])('%s', (_, room, expected) => expect(room).toBe(expected));
});

describe('the room on a new node', () => {
  const roomFor = (pods: readonly Pod[], over?: Over): number => {
    const made = stage(pods, over);
    return made.engine.roomInFresh(opened(made, 'p-0'), made.itemOf('p-0'));
  };
  const pool = (over: Parameters<typeof poolOf>[1]): Over => ({
    snapshot: { pools: [{ pool: poolOf('default', over), instanceTypes: types }] },
  });
  test.each<[string, number, number]>([
    ['is that of the largest type', roomFor(podsOf('p', 9, cores(1))), 4],
    [
      'is that of the largest type within the limit of its pool',
      roomFor(podsOf('p', 9, cores(1)), pool({ limits: { cpu: 3000 } })),
      2,
    ],
    [
      'is that of the type that leaves enough others possible',
      roomFor(
        podsOf('p', 9, cores(1)),
        pool({
          requirements: [
            {
              key: 'node.kubernetes.io/instance-type',
              operator: 'Exists',
              values: [],
              minValues: 2,
            },
          ],
        }),
      ),
      2,
    ],
    ['is one for pods that are apart', roomFor(podsOf('p', 9, rules.apart('w'))), 1],
    [
      'is without what daemonsets take',
      roomFor(podsOf('p', 9, cores(1)), {
        snapshot: {
          pools: [{ pool: poolOf('default'), instanceTypes: types }],
          daemonSets: [daemonSetOf('d')],
        },
      }),
      3,
    ],
  ])('%s', (_, room, expected) => expect(room).toBe(expected));

  test('is none for pods whose zone the node can no longer be in', () => {
    const made = stage([
      podOf('p', { nodeSelector: { [zoneKey]: 'zone-a' } }),
      podOf('q', { ...cores(1), nodeSelector: { [zoneKey]: 'zone-b' } }),
    ]);
    const bin = opened(made, 'p');
    expect(made.engine.roomInFresh(bin, made.itemOf('q'))).toBeGreaterThan(0);
    made.engine.put(bin, made.itemOf('p'), 1);
    expect(made.engine.roomInFresh(bin, made.itemOf('q'))).toBe(0);
  });
});

describe('a new node', () => {
  const reservation = { id: 'cr', remaining: 1 };
  const reserved = typeOf({
    name: 'r.2',
    cpuMillis: 2000,
    memoryBytes: gibibytes(8),
    offerings: [offeringOf('zone-a', 'reserved', 0, { reservation })],
  });

  test.each<[string, Partial<Pod>, Parameters<typeof poolOf>[1]]>([
    ['that is too small', cores(5), {}],
    ['of a pool that it does not tolerate', {}, { taints: [{ key: 'x', effect: 'NoSchedule' }] }],
    ['of a pool at its limit', {}, { limits: { nodes: 0 } }],
    ['without the label that it asks for', { nodeSelector: { team: 'x' } }, {}],
  ])('is not opened for a pod %s', (_, pod, pool) => {
    const { engine, template, itemOf } = stage([podOf('p', pod)], {
      snapshot: { pools: [{ pool: poolOf('default', pool), instanceTypes: types }] },
    });
    expect(engine.openingFor(template, itemOf('p'))).toBeUndefined();
  });

  test.each<[PlanOptions['reservedOfferings'], boolean]>([
    ['Strict', true],
    ['Fallback', false],
  ])('with the policy %s a pod waits for a reservation that is given out: %j', (policy, waits) => {
    const made = stage(podsOf('p', 2, cores(1.5)), {
      options: { reservedOfferings: policy },
      snapshot: { pools: [{ pool: poolOf('default'), instanceTypes: [reserved, ...types] }] },
    });
    const { engine, itemOf, template } = made;
    expect(engine.waitsForReservation(template, itemOf('p-0'))).toBe(false);
    engine.put(opened(made, 'p-0'), itemOf('p-0'), 1);
    expect(engine.waitsForReservation(template, itemOf('p-0'))).toBe(waits);
    expect(engine.openingFor(template, itemOf('p-0')) === undefined).toBe(waits);
  });

  test('costs what the cheapest type costs that holds its pods', () => {
    const made = stage([podOf('p', cores(1)), podOf('q', cores(2))]);
    const { engine, itemOf } = made;
    const bin = opened(made, 'p');
    engine.put(bin, itemOf('p'), 1);
    expect(engine.priceOf(bin)).toBe(200);
    engine.put(bin, itemOf('q'), 1);
    expect(engine.priceOf(bin)).toBe(400);
  });

  test('is charged to its pool as what it has become, once', () => {
    const made = stage(podsOf('p', 4, cores(1)), {
      snapshot: {
        pools: [{ pool: poolOf('default', { limits: { cpu: 9000 } }), instanceTypes: types }],
      },
    });
    const { engine, itemOf, template } = made;
    const bin = opened(made, 'p-0');
    const leftAfter = (count: number): number => {
      engine.put(bin, itemOf('p-0'), count);
      return engine.accounts.left(template, 'cpu');
    };
    expect([leftAfter(1), leftAfter(1), leftAfter(1), leftAfter(1)]).toEqual([
      7000, 7000, 5000, 5000,
    ]);
  });
});

test('an engine that starts where another stands shares nothing that can change', () => {
  const pods = [...podsOf('p', 2, rules.spread('w')), podOf('q')];
  const made = stage(pods, { snapshot: { nodes: [nodeOf('n')] } });
  const { engine, itemOf } = made;
  engine.put(firstOf(made), itemOf('p-0'), 1);
  engine.put(opened(made, 'q'), itemOf('q'), 1);
  const copy = new Engine(engine.world, engine);
  const [bin] = copy.existing;
  expect([bin?.contents, bin?.used, bin?.hosts]).toEqual([
    firstOf(made).contents,
    firstOf(made).used,
    firstOf(made).hosts,
  ]);
  expect(copy.fresh).toEqual([]);
  copy.put(present(bin, 'the copy has the node'), itemOf('q'), 1);
  copy.put(present(bin, 'the copy has the node'), itemOf('p-0'), 1);
  const before = firstOf(made);
  expect([...before.contents.values()]).toEqual([1]);
  expect([...(before.hosts ?? new Map()).values()].map(({ selected }) => selected)).toEqual([1]);
  expect(before.pods).toBe(1);
});

test('the room is exactly what can be put: so many fit, and then no more', () => {
  const anyCase = fc.record({
    workloads: workloadsOf('none', 'apart', 'port', 'zone'),
    limit: fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined }),
  });
  fc.assert(
    fc.property(anyCase, ({ workloads, limit }) => {
      const pool = poolOf('default', limit === undefined ? {} : { limits: { cpu: limit * 1000 } });
      const made = stage(workloadPods(workloads), {
        snapshot: { pools: [{ pool, instanceTypes: types }], nodes: [nodeOf('n')] },
      });
      const { engine, template } = made;
      for (const cls of engine.world.classes) {
        const item = made.itemOf(present(cls.uids[0], 'a class has pods'));
        const opening = engine.openingFor(template, item);
        const bins = [firstOf(made), ...(opening === undefined ? [] : [engine.open(opening)])];
        for (const bin of bins) {
          const roomIn = (): number =>
            bin.state === undefined ? engine.roomOnNode(bin, item) : engine.roomInFresh(bin, item);
          const room = roomIn();
          if (bin.state !== undefined) expect(room).toBeGreaterThan(0);
          if (room === 0) continue;
          engine.put(bin, item, room);
          expect(roomIn()).toBe(0);
          if (bin.state !== undefined) expect(engine.priceOf(bin)).toBeLessThan(Infinity);
        }
      }
    }),
  );
});
