import type { Pool } from '@dovetail/core-api';
import type { InstanceType, Offering } from '@dovetail/core-ec2-model';
import { requirementsOf, type RequirementSpec } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import { defaultPlanOptions } from '../options.js';
import type { Snapshot } from '../snapshot.js';
import {
  daemonSetOf,
  gibibytes,
  nodeOf,
  offeringOf,
  podsOf,
  poolOf,
  snapshotOf,
  typeOf,
} from '../testing/objects.js';
import { worldOf } from '../world/world.js';
import {
  heavierFirst,
  isOpen,
  templateRequirements,
  wellKnownLabels,
  withoutLaterLabels,
} from './templates.js';
import { admitsOffering } from './type-rooms.js';

const zone = 'topology.kubernetes.io/zone';
const capacityType = 'karpenter.sh/capacity-type';
const within = (key: string, ...values: readonly string[]): RequirementSpec => ({
  key,
  operator: 'In',
  values,
});
const typeWith = (name: string, cores: number, ...offerings: readonly Offering[]): InstanceType =>
  typeOf({ name, cpuMillis: cores * 1000, memoryBytes: gibibytes(2 * cores), offerings });
const types = [
  typeWith('large', 4, offeringOf('a', 'on-demand', 40), offeringOf('a', 'spot', 15)),
  typeWith('small', 1, offeringOf('b', 'on-demand', 10), offeringOf('a', 'on-demand', 10)),
];

function templatesFor(
  pools: readonly Pool[],
  over: {
    readonly types?: readonly InstanceType[];
    readonly pods?: number;
  } & Partial<Snapshot> = {},
) {
  const { types: instanceTypes = types, pods = 1, ...rest } = over;
  const snapshot = snapshotOf({ pools: pools.map((pool) => ({ pool, instanceTypes })), ...rest });
  return worldOf(snapshot, podsOf('p', pods), defaultPlanOptions).templates;
}
const offersOf = (pool: Partial<Pool>, over: Parameters<typeof templatesFor>[1] = {}) =>
  templatesFor([poolOf('default', pool)], over).flatMap(({ offers }) =>
    offers.map(
      ({ type, offering }) => `${type.type.name} ${offering.zone} ${offering.capacityType}`,
    ),
  );
const all = ['small a on-demand', 'small b on-demand', 'large a spot', 'large a on-demand'];

describe('the offers of a pool', () => {
  const closed = { available: false };
  const reserved = (remaining: number) =>
    offeringOf('a', 'reserved', 1, { reservation: { id: 'cr-1', remaining } });
  test.each<[string, Partial<Pool>, Parameters<typeof templatesFor>[1], readonly string[]]>([
    ['are cheapest first; equal prices by type and zone', {}, {}, all],
    ['are those of its zones', { requirements: [within(zone, 'b')] }, {}, ['small b on-demand']],
    [
      'are those of its capacity types',
      { requirements: [within(capacityType, 'spot')] },
      {},
      ['large a spot'],
    ],
    ['are not above its highest price', { maxPriceMicrosPerHour: 15 }, {}, all.slice(0, 3)],
    [
      'are not those that are out of capacity',
      {},
      { types: [typeWith('t', 1, offeringOf('a', 'spot', 1, closed))] },
      [],
    ],
    [
      'are reserved ones with instances left',
      {},
      { types: [typeWith('t', 1, reserved(1))] },
      ['t a reserved'],
    ],
    ['are not reserved ones without', {}, { types: [typeWith('t', 1, reserved(0))] }, []],
    [
      'are not of types that daemonsets overfill',
      {},
      { daemonSets: [daemonSetOf('d', { requests: { cpu: 1500 } })] },
      all.slice(2),
    ],
  ])('%s', (_what, pool, over, offers) => {
    expect(offersOf(pool, over)).toEqual(offers);
  });

  test('have the room that daemonsets leave, down to nothing', () => {
    const daemonSets = [daemonSetOf('d', { requests: { cpu: 1000, memory: 0 } })];
    const [template] = templatesFor([poolOf('default')], { daemonSets });
    const [small] = template?.offers ?? [];
    expect([...(small?.type.room ?? [])]).toEqual([0, gibibytes(2), 109]);
    expect([...(small?.type.overhead ?? [])]).toEqual([1000, 0, 1]);
  });
});

describe('pools that planning may open nodes in', () => {
  test.each<[string, Partial<Pool>, boolean]>([
    ['a ready one', {}, true],
    ['not one that is not ready', { ready: false }, false],
    ['not a static one', { replicas: 3 }, false],
    ['not a static one without nodes', { replicas: 0 }, false],
    ['not one that is being deleted', { deletionMs: 1 }, false],
  ])('%s', (_what, over, open) => {
    expect(isOpen(poolOf('default', over))).toBe(open);
    expect(templatesFor([poolOf('default', over)])).toHaveLength(Number(open));
  });

  test('are tried by weight, then by name from the end, then NodePools first', () => {
    const pools = [
      poolOf('a', { weight: 1 }),
      poolOf('z'),
      poolOf('b', { weight: 9 }),
      poolOf('z', { identity: { kind: 'Provisioner', name: 'z' } }),
      poolOf('y'),
    ];
    const keys = ['NodePool/b', 'NodePool/a', 'NodePool/z', 'Provisioner/z', 'NodePool/y'];
    expect(templatesFor(pools).map(({ key }) => key)).toEqual(keys);
    expect(templatesFor([...pools].sort(heavierFirst).reverse()).map(({ key }) => key)).toEqual(
      keys,
    );
    expect(templatesFor(pools).map(({ index }) => index)).toEqual([0, 1, 2, 3, 4]);
  });
});

describe('what the limits of a pool leave', () => {
  const mine = { poolKey: 'NodePool/default', capacity: { cpu: 3000 } };
  test.each<
    [string, Partial<Pool>, Parameters<typeof templatesFor>[1], Readonly<Record<string, number>>]
  >([
    ['nothing to keep to without limits', {}, {}, {}],
    ['all of it without nodes', { limits: { cpu: 3000 } }, {}, { cpu: 3000 }],
    [
      'less by each of its nodes',
      { limits: { cpu: 5000 } },
      { nodes: [nodeOf('n', mine)] },
      { cpu: 2000 },
    ],
    [
      'less than nothing where its nodes exceed them',
      { limits: { cpu: 1000 } },
      { nodes: [nodeOf('n', mine)] },
      { cpu: -2000 },
    ],
    [
      'not less by a node that is on its way out',
      { limits: { cpu: 3000 } },
      { nodes: [nodeOf('n', { ...mine, state: 'deleting' })] },
      { cpu: 3000 },
    ],
    [
      'not less by a node of another pool',
      { limits: { cpu: 3000 } },
      { nodes: [nodeOf('n', { ...mine, poolKey: 'NodePool/other' })] },
      { cpu: 3000 },
    ],
    [
      'less by one for each node',
      { limits: { nodes: 2 } },
      { nodes: [nodeOf('n', mine)], pods: 9 },
      { nodes: 1 },
    ],
    ['out what one pod could not reach', { limits: { cpu: 4000 } }, {}, {}],
    ['in what two pods could reach', { limits: { cpu: 4000 } }, { pods: 2 }, { cpu: 4000 }],
  ])('is %s', (_what, pool, over, remaining) => {
    const [template] = templatesFor([poolOf('default', pool)], over);
    expect(template?.remaining).toEqual(remaining);
    expect(template?.limited).toBe(Object.keys(remaining).length > 0);
  });
});

describe('the types that nodes are sized by', () => {
  const category = 'karpenter.k8s.aws/instance-category';
  const generation = 'karpenter.k8s.aws/instance-generation';
  const typed = (
    name: string,
    labels: Readonly<Record<string, string>>,
    over: Partial<Offering> = {},
  ) =>
    typeOf({
      name,
      labels,
      cpuMillis: 1000,
      memoryBytes: gibibytes(2),
      offerings: [offeringOf('a', 'on-demand', 10, over)],
    });
  const burstable = typed('t3', { [category]: 't', [generation]: '3' });
  const general = typed('m5', { [category]: 'm', [generation]: '5' });
  const provisioner: Partial<Pool> = { identity: { kind: 'Provisioner', name: 'default' } };
  const sizesOf = (pool: Partial<Pool>, list: readonly InstanceType[] = [burstable, general]) =>
    templatesFor([poolOf('default', pool)], { types: list }).map(
      ({ sizes }) => sizes && [...sizes].map(({ type }) => type.name),
    );
  test.each<[string, Partial<Pool>, readonly InstanceType[] | undefined, unknown]>([
    ['all for a NodePool', {}, undefined, undefined],
    ['those above burstable for a Provisioner that names none', provisioner, undefined, ['m5']],
    ['all where it has none of those', provisioner, [burstable], undefined],
    [
      'all where it asks for several kinds of types',
      {
        ...provisioner,
        requirements: [{ key: zone, operator: 'Exists', values: [], minValues: 1 }],
      },
      undefined,
      undefined,
    ],
    [
      'all where some are reserved',
      provisioner,
      [
        general,
        typed(
          'c5',
          { [category]: 'c', [generation]: '5' },
          { reservation: { id: 'cr', remaining: 1 } },
        ),
      ],
      undefined,
    ],
  ])('are %s', (_what, pool, list, sizes) => {
    expect(sizesOf(pool, list)).toEqual([sizes]);
  });
});

/** The labels that a node gets by itself. */
const laterSpecs = [
  within('kubernetes.io/hostname', 'a new node'),
  within('karpenter.sh/registered', 'true'),
  within('karpenter.sh/initialized', 'true'),
  within('karpenter.k8s.aws/ec2nodeclass', 'default'),
];

test('a template requires what its pool does, and has the labels that its nodes get', () => {
  const pool = poolOf('default', {
    labels: { team: 'blue' },
    requirements: [within('team', 'blue', 'red'), within(zone, 'a')],
  });
  expect(templateRequirements(pool)).toEqual(
    requirementsOf([
      within('team', 'blue'),
      within(zone, 'a'),
      within('karpenter.sh/nodepool', 'default'),
      ...laterSpecs,
    ]),
  );
  expect([...withoutLaterLabels(templateRequirements(pool), pool).keys()]).toEqual([
    'team',
    zone,
    'karpenter.sh/nodepool',
  ]);
});

test('types decide the well-known labels and those that some type has, not the names of pools', () => {
  const snapshot = snapshotOf({ pools: [{ pool: poolOf('default'), instanceTypes: types }] });
  const known = wellKnownLabels({
    ...snapshot,
    pools: [
      {
        pool: poolOf('default'),
        instanceTypes: [
          typeOf({ name: 't', cpuMillis: 1, memoryBytes: 1, labels: { own: '1' }, offerings: [] }),
        ],
      },
    ],
  });
  expect(known.has('own')).toBe(true);
  expect(wellKnownLabels(snapshot).has('own')).toBe(false);
  for (const key of [zone, capacityType, 'kubernetes.io/arch']) expect(known.has(key)).toBe(true);
  for (const key of ['karpenter.sh/nodepool', 'kubernetes.io/hostname'])
    expect(known.has(key)).toBe(false);
});

describe('requirements leave an offering open', () => {
  const zoneId = 'topology.k8s.aws/zone-id';
  const offering = offeringOf('a', 'spot', 1);
  test.each<[string, readonly RequirementSpec[], Offering, boolean]>([
    ['that ask for nothing', [], offering, true],
    [
      'of its zone and capacity type',
      [within(zone, 'a'), within(capacityType, 'spot')],
      offering,
      true,
    ],
    ['not of another zone', [within(zone, 'b')], offering, false],
    ['not of another capacity type', [within(capacityType, 'on-demand')], offering, false],
    ['not of another zone id', [within(zoneId, 'x')], { ...offering, zoneId: 'y' }, false],
    ['whose zone id is unknown', [within(zoneId, 'x')], offering, true],
  ])('%s', (_what, specs, one, open) => {
    expect(admitsOffering(requirementsOf(specs), one)).toBe(open);
  });
});
