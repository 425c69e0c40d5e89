import type { Pod } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import { defaultPlanOptions } from '../options.js';
import type { Snapshot } from '../snapshot.js';
import {
  gibibytes,
  nodeOf,
  offeringOf,
  podOf,
  poolOf,
  snapshotOf,
  typeOf,
} from '../testing/objects.js';
import { worldOf } from '../world/world.js';
import { type Admissions, admissionsOf, type Column, covers } from './columns.js';

const zoneKey = 'topology.kubernetes.io/zone';

describe('a node to buy covers another', () => {
  const small: Column = {
    room: Float64Array.of(2, 4),
    priceMicrosPerHour: 10,
    admits: Uint8Array.of(1, 0),
    most: Infinity,
  };
  test.each<[string, Partial<Column>, boolean]>([
    ['that is just like it', {}, true],
    [
      'with more room at a lower price',
      { room: Float64Array.of(3, 4), priceMicrosPerHour: 9 },
      true,
    ],
    ['that admits more', { admits: Uint8Array.of(1, 1) }, true],
    ['but not at a higher price', { priceMicrosPerHour: 11 }, false],
    ['but not with less of one resource', { room: Float64Array.of(9, 3) }, false],
    ['but not if it admits others', { admits: Uint8Array.of(0, 1) }, false],
    ['but not if there are only so many', { most: 5 }, false],
  ])('%s', (_, over, expected) => {
    expect(covers({ ...small, ...over }, small)).toBe(expected);
  });

  test('of which there are only so many', () => {
    expect(covers(small, { ...small, most: 1 })).toBe(true);
  });
});

const type = (cores: number, prices: Readonly<Record<string, number>>) =>
  typeOf({
    name: `m.${cores}`,
    cpuMillis: cores * 1000,
    memoryBytes: gibibytes(cores * 4),
    offerings: Object.entries(prices).map(([zone, price]) => offeringOf(zone, 'on-demand', price)),
  });
const admissionsIn = (snapshot: Partial<Snapshot>, pods: readonly Pod[]): Admissions =>
  admissionsOf(worldOf(snapshotOf(snapshot), pods, defaultPlanOptions));
const bought = (admissions: Admissions): readonly string[] =>
  admissions.buyable.map(
    (one) => `${String(one.room[0])} for ${one.priceMicrosPerHour} to ${one.admits.join('')}`,
  );
const pools = (instanceTypes: readonly ReturnType<typeof type>[]): Partial<Snapshot> => ({
  pools: [{ pool: poolOf('default'), instanceTypes }],
});

describe('the nodes that are worth buying', () => {
  const anywhere = podOf('anywhere');
  const inB = podOf('in-b', { nodeSelector: { [zoneKey]: 'b' } });
  test.each<[string, readonly ReturnType<typeof type>[], readonly Pod[], readonly string[]]>([
    ['one of two zones at one price', [type(2, { a: 5, b: 5 })], [anywhere], ['2000 for 5 to 1']],
    ['the cheaper of two zones', [type(2, { a: 5, b: 6 })], [anywhere], ['2000 for 5 to 1']],
    [
      'a dearer zone too if only it admits a class',
      [type(2, { a: 5, b: 6 })],
      [anywhere, inB],
      ['2000 for 5 to 10', '2000 for 6 to 11'],
    ],
    [
      'a larger type at a higher price too',
      [type(2, { a: 5 }), type(4, { a: 9 })],
      [anywhere],
      ['2000 for 5 to 1', '4000 for 9 to 1'],
    ],
    [
      'but no smaller type at a higher price',
      [type(2, { a: 9 }), type(4, { a: 5 })],
      [anywhere],
      ['4000 for 5 to 1'],
    ],
    ['but none that admits no class', [type(2, { a: 5 })], [inB], []],
  ])('are %s', (_, types, pods, expected) => {
    expect(bought(admissionsIn(pools(types), pods))).toEqual(expected);
  });

  test('of a reservation are as many as are left of it', () => {
    const reserved = typeOf({
      name: 'm.2',
      cpuMillis: 2000,
      memoryBytes: gibibytes(8),
      offerings: [offeringOf('a', 'reserved', 0, { reservation: { id: 'cr', remaining: 3 } })],
    });
    const { buyable } = admissionsIn(pools([reserved]), [anywhere]);
    expect(buyable.map(({ most }) => most)).toEqual([3]);
  });
});

describe('the nodes that exist', () => {
  const inZone = (name: string, zone: string) => nodeOf(name, { labels: { [zoneKey]: zone } });
  test('are one for each set of classes that they admit, with their free room together', () => {
    const { existing } = admissionsIn(
      { nodes: [inZone('x', 'a'), inZone('y', 'b'), inZone('z', 'b')] },
      [podOf('anywhere'), podOf('in-b', { nodeSelector: { [zoneKey]: 'b' } })],
    );
    const shown = existing.map(({ room, admits }) => `${String(room[0])} to ${admits.join('')}`);
    expect(shown.sort()).toEqual(['4000 to 10', '8000 to 11']);
  });

  test('are left out when they admit no class', () => {
    const pod = podOf('in-b', { nodeSelector: { [zoneKey]: 'b' } });
    expect(admissionsIn({ nodes: [inZone('x', 'a')] }, [pod]).existing).toEqual([]);
  });

  test('count for nothing, not less, when they are overcommitted', () => {
    const running = podOf('run', { phase: 'Running', requests: { cpu: 9000 } });
    const nodes = [nodeOf('x', { pods: [running] }), nodeOf('y')];
    const [column] = admissionsIn({ nodes }, [podOf('p')]).existing;
    expect(column?.room[0]).toBe(4000);
  });
});

test('classes share an admission group when they differ in their requests only', () => {
  const pods = [
    podOf('small'),
    podOf('large', { requests: { cpu: 900 } }),
    podOf('in-b', { nodeSelector: { [zoneKey]: 'b' } }),
    podOf('lost', { volumes: [{ claimName: 'missing' }] }),
  ];
  const world = worldOf(snapshotOf(pools([type(2, { a: 5, b: 5 })])), pods, defaultPlanOptions);
  const { groupOf } = admissionsOf(world);
  const group = (name: string) => groupOf[world.classes.findIndex(({ pod }) => pod.name === name)];
  expect(group('small')).toBe(group('large'));
  expect(group('in-b')).not.toBe(group('small'));
  expect(group('lost')).toBe(-1);
});
