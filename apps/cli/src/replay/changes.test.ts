import { poolValue } from '@dovetail/core-api/testing';
import { podValue } from '@dovetail/core-kube-model/testing';
import { defaultPlanOptions, planAgain, type PlanInput, sketchOf } from '@dovetail/core-scheduling';
import { snapshotOf } from '@dovetail/core-scheduling/testing';
import { m5Types } from '@dovetail/sim-stage';
import { describe, expect, test } from 'vitest';

import { changed, IdleChange, priceChangeOf } from './changes.js';

const input: PlanInput = {
  snapshot: snapshotOf({ pools: [{ pool: poolValue('default'), instanceTypes: m5Types }] }),
  pods: ['a', 'b'].map((uid) => podValue(uid, { requests: { cpu: 1_500, pods: 1 } })),
  options: defaultPlanOptions,
  answers: [0],
};
/** The types, zones and capacity types that are bought under some changes. */
const bought = (changes: Partial<Parameters<typeof changed>[1]> = {}): readonly string[] =>
  sketchOf(planAgain(changed(input, { prices: [], pools: [], ...changes }))).nodes.map(
    ({ instanceType, zone, capacityType, priceMicrosPerHour }) =>
      [instanceType, zone, capacityType, priceMicrosPerHour].join(' '),
  );
const [type = ''] = bought()[0]?.split(' ') ?? [];
const others = m5Types.filter(({ name }) => name !== type);

describe('a recorded input', () => {
  test('without changes is planned as it was', () => {
    expect(changed(input, { prices: [], pools: [] })).toEqual(input);
  });

  test('with a price that is too high buys another type', () => {
    const prices = [{ instanceType: type, priceMicrosPerHour: 900_000_000 }];
    expect(bought({ prices }).filter((node) => node.startsWith(`${type} `))).toEqual([]);
  });

  test('with a price of one offering buys that one, at that price; the last of two counts', () => {
    const [{ name, offerings: [offering] } = { name: '', offerings: [] }] = others;
    const { zone = '', capacityType = '' } = offering ?? {};
    const one = { instanceType: name, zone, capacityType };
    const prices = [
      { ...one, priceMicrosPerHour: 900_000_000 },
      { ...one, priceMicrosPerHour: 1 },
    ];
    expect(new Set(bought({ prices }))).toEqual(new Set([`${name} ${zone} ${capacityType} 1`]));
  });

  test('with a catalog that lacks a type cannot buy it', () => {
    expect(bought({ catalog: others }).filter((node) => node.startsWith(`${type} `))).toEqual([]);
  });

  test('with another pool of the same name buys what that one allows', () => {
    const [{ name } = { name: '' }] = others;
    const requirements = [
      { key: 'node.kubernetes.io/instance-type', operator: 'In' as const, values: [name] },
    ];
    const nodes = bought({ pools: [poolValue('default', { requirements, ready: false })] });
    expect(nodes.length).toBeGreaterThan(0);
    expect(nodes.filter((node) => !node.startsWith(`${name} `))).toEqual([]);
  });

  test.each([
    [
      'a price of a type that no pool has',
      { prices: [{ instanceType: 'm99.huge', priceMicrosPerHour: 1 }] },
      '--price names m99.huge',
    ],
    [
      'a price in a zone that there is not',
      { prices: [{ instanceType: type, zone: 'moon-1a', priceMicrosPerHour: 1 }] },
      `--price names ${type}/moon-1a`,
    ],
    ['a pool that was not there', { pools: [poolValue('other')] }, '-f has NodePool/other'],
    ['a catalog without any of its offerings', { catalog: [] }, 'none of the offerings'],
  ])('with %s is refused: it would change nothing', (_what, changes, text) => {
    expect(() => bought(changes)).toThrow(IdleChange);
    expect(() => bought(changes)).toThrow(text);
  });
});

test.each([
  ['m5.large=0.05', { instanceType: 'm5.large', priceMicrosPerHour: 50_000 }],
  [
    'm5.large/us-west-2a=1',
    { instanceType: 'm5.large', zone: 'us-west-2a', priceMicrosPerHour: 1_000_000 },
  ],
  [
    'm5.large/us-west-2a/spot=.5',
    {
      instanceType: 'm5.large',
      zone: 'us-west-2a',
      capacityType: 'spot',
      priceMicrosPerHour: 500_000,
    },
  ],
  ['m5.large', undefined],
  ['m5.large=', undefined],
  ['m5.large=cheap', undefined],
  ['m5.large=0', undefined],
  ['m5.large=-1', undefined],
  ['=1', undefined],
  ['m5.large/=1', undefined],
  ['m5.large/a/spot/x=1', undefined],
  ['m5.large=1=2', undefined],
])('%s is read as %j', (text, change) => expect(priceChangeOf(text)).toEqual(change));
