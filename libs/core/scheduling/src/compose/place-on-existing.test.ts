import { present } from '@dovetail/core-invariant';
import { type Pod, requirementsOf } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { assertLedgersHold } from '../laws.js';
import { defaultPlanOptions } from '../options.js';
import { Engine } from '../rooms/engine.js';
import { ItemTable } from '../rooms/items.js';
import type { ExistingNode, Snapshot } from '../snapshot.js';
import { gibibytes, nodeOf, podOf, podsOf, selecting, snapshotOf } from '../testing/objects.js';
import { rules } from '../testing/packing.js';
import { boundTo, claimOf, volumeOf } from '../testing/storage.js';
import { mixedWorld } from '../testing/worlds.js';
import { rolesOf } from '../topology/roles.js';
import { type World, worldOf } from '../world/world.js';
import { ExistingNodes } from './place-on-existing.js';

fc.configureGlobal({ seed: 1 });

const zoneKey = 'topology.kubernetes.io/zone';
const cores = (count: number): Partial<Pod> => ({ requests: { cpu: count * 1000, memory: 1 } });
const inZone = (name: string, zone: string, over: Partial<ExistingNode> = {}) =>
  nodeOf(name, { ...over, labels: { ...over.labels, [zoneKey]: zone } });

/** Places up to `count` pods of each class at its first level, in the order of classes. */
function placeIn(world: World, countOf = (uids: readonly string[]): number => uids.length) {
  const engine = new Engine(world);
  const table = new ItemTable();
  const placed = world.classes.map((cls) => {
    const [level] = cls.levels;
    if (level === undefined) return 0;
    const existing = new ExistingNodes(engine, table, {
      cls,
      level: 0,
      roles: rolesOf(cls, level),
    });
    return existing.place(countOf(cls.uids));
  });
  return { engine, placed };
}
/** The pods that each node takes, by its name; nodes that take none are left out. */
function taken(
  pods: readonly Pod[],
  nodes: readonly ExistingNode[],
  snapshot: Partial<Snapshot> = {},
): Readonly<Record<string, number>> {
  const { engine } = placeIn(worldOf(snapshotOf({ nodes, ...snapshot }), pods, defaultPlanOptions));
  return Object.fromEntries(
    engine.existing.flatMap(({ room, contents }) => {
      const count = [...contents.values()].reduce((sum, one) => sum + one, 0);
      return count === 0 ? [] : [[present(room, 'a node exists').node.name, count]];
    }),
  );
}

describe('an existing node takes no pod', () => {
  const open: Partial<ExistingNode> = {
    state: 'in-flight',
    requirements: requirementsOf([{ key: zoneKey, operator: 'In', values: ['a', 'b'] }]),
  };
  const port = { ip: '', port: 80, protocol: 'TCP' as const };
  const spread = {
    labels: { app: 'w' },
    topologySpread: rules
      .spread('w')
      .topologySpread.map((one) => ({ ...one, topologyKey: zoneKey })),
  };
  test.each<[string, Partial<Pod>, Partial<ExistingNode>]>([
    ['that is too large', cores(5), {}],
    ['for which others leave no room', cores(3), { pods: [podOf('r', cores(2))] }],
    ['for which promises leave no room', cores(3), { promisedPods: [podOf('r', cores(2))] }],
    ['for which reserved amounts leave no room', cores(3), { reserved: { cpu: 2000 } }],
    ['while it is cordoned', {}, { cordoned: true }],
    ['while it is being deleted', {}, { state: 'deleting' }],
    ['that does not tolerate its taint', {}, { taints: [{ key: 'x', effect: 'NoSchedule' }] }],
    ['that asks for a label which it lacks', { nodeSelector: { team: 'blue' } }, {}],
    [
      'that asks for a zone which its claim leaves open',
      { nodeSelector: { [zoneKey]: 'a' } },
      open,
    ],
    ['that is to be spread over zones while its zone is open', spread, open],
    ['that is to be spread over a label which it lacks', spread, {}],
    [
      'that wants a host port which is taken',
      { hostPorts: [port] },
      { pods: [podOf('r', { hostPorts: [port] })] },
    ],
    [
      'that must be apart from one on it',
      rules.apart('w'),
      { pods: [podOf('r', { labels: { app: 'w' } })] },
    ],
  ])('%s', (_, pod, node) => expect(taken([podOf('p', pod)], [nodeOf('n', node)])).toEqual({}));
});

describe('existing nodes take pods', () => {
  const zoneSpread = {
    labels: { app: 'w' },
    topologySpread: rules
      .spread('w')
      .topologySpread.map((one) => ({ ...one, topologyKey: zoneKey })),
  };
  test.each<[string, ReturnType<typeof taken>, ReturnType<typeof taken>]>([
    ['of which there are none: none', taken([], [nodeOf('n')]), {}],
    ['where there are no nodes: none', taken([podOf('p')], []), {}],
    [
      'in their order, each as many as fit',
      taken(podsOf('p', 6, cores(1)), [nodeOf('b'), nodeOf('a')]),
      { a: 4, b: 2 },
    ],
    [
      'on ready nodes first',
      taken(podsOf('p', 5, cores(1)), [nodeOf('a', { state: 'uninitialized' }), nodeOf('b')]),
      { a: 1, b: 4 },
    ],
    [
      'that are apart: one each',
      taken(podsOf('p', 3, rules.apart('w')), [nodeOf('a'), nodeOf('b')]),
      { a: 1, b: 1 },
    ],
    [
      'that are spread over zones: the emptier zone first',
      taken(podsOf('p', 4, zoneSpread), [
        inZone('a', 'zone-a', { pods: podsOf('r', 2, { labels: { app: 'w' } }) }),
        inZone('b', 'zone-b'),
      ]),
      { a: 1, b: 3 },
    ],
    [
      'that follow others: into their zone',
      taken(
        podsOf('p', 2, {
          requiredPodAffinity: [
            { topologyKey: zoneKey, selector: selecting({ app: 'db' }), namespaces: [] },
          ],
        }),
        [
          inZone('a', 'zone-a'),
          inZone('b', 'zone-b', { pods: [podOf('r', { labels: { app: 'db' } })] }),
        ],
      ),
      { b: 2 },
    ],
    [
      'that nobody counts: also where the zone is open',
      taken(
        [podOf('p')],
        [
          nodeOf('n', {
            state: 'in-flight',
            requirements: requirementsOf([{ key: zoneKey, operator: 'In', values: ['a', 'b'] }]),
          }),
        ],
      ),
      { n: 1 },
    ],
    [
      'with volumes: as many as it may attach',
      taken(
        ['one', 'two'].map((name) => podOf(name, { volumes: [{ claimName: name }] })),
        [nodeOf('n')],
        {
          persistentVolumes: ['one', 'two'].map((name) => volumeOf(name)),
          persistentVolumeClaims: ['one', 'two'].map((name) => claimOf(name, boundTo(name))),
          csiNodes: [
            { uid: 'csi', name: 'n', resourceVersion: '1', limits: { 'ebs.csi.aws.com': 1 } },
          ],
        },
      ),
      { n: 1 },
    ],
  ])('%s', (_, made, expected) => expect(made).toEqual(expected));

  test('behind hundreds that are full', () => {
    const full = Array.from({ length: 200 }, (_, index) =>
      nodeOf(`full-${String(index).padStart(3, '0')}`, { reserved: { cpu: 3950 } }),
    );
    expect(taken(podsOf('p', 3), [...full, nodeOf('room')])).toEqual({ room: 3 });
  });
});

describe('in any world', () => {
  const anySeed = fc.integer({ min: 1, max: 10_000 });

  test('no more pods are placed than are asked for, and none beyond the room of a node', () =>
    fc.assert(
      fc.property(anySeed, fc.integer({ min: 0, max: 5 }), (seed, most) => {
        const { snapshot, pods, options } = mixedWorld(seed);
        const world = worldOf(snapshot, pods, options);
        const { engine, placed } = placeIn(world, (uids) => Math.min(most, uids.length));
        const counted = engine.existing
          .flatMap(({ contents }) => [...contents.values()])
          .reduce((sum, count) => sum + count, 0);
        expect(counted).toBe(placed.reduce((sum, count) => sum + count, 0));
        expect(placed.every((count) => count >= 0 && count <= most)).toBe(true);
        assertLedgersHold(engine);
      }),
      { numRuns: 60 },
    ));

  test('a pod without rules is left over only when no node takes it', () =>
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 1, maxLength: 90 }),
        fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 4 }),
        (rooms, counts) => {
          const nodes = rooms.map((size, index) => {
            const allocatable = { cpu: size * 500, memory: gibibytes(8), pods: 3 };
            return nodeOf(`n${index}`, { allocatable, capacity: allocatable });
          });
          const pods = counts.flatMap((count, index) =>
            podsOf(`w${index}-`, count, cores(index + 0.5)),
          );
          const world = worldOf(snapshotOf({ nodes }), pods, defaultPlanOptions);
          const { engine, placed } = placeIn(world);
          world.classes.forEach((cls, index) => {
            if (placed[index] === cls.uids.length) return;
            const left = engine.existing.filter(({ room, used }) =>
              cls.requests.every((wanted, r) => wanted + (used[r] ?? 0) <= (room?.free[r] ?? 0)),
            );
            expect(left).toEqual([]);
          });
        },
      ),
    ));
});
