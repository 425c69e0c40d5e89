import { at } from '@dovetail/core-invariant';
import { requirementsOf, type RequirementSpec } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { defaultPlanOptions } from '../options.js';
import { gibibytes, offeringOf, poolOf, snapshotOf, typeOf } from '../testing/objects.js';
import { worldOf } from '../world/world.js';
import { meetsMinValues, valuesAmong } from './min-values.js';
import type { Offer, Template } from './templates.js';

const typeKey = 'node.kubernetes.io/instance-type';
const zoneKey = 'topology.kubernetes.io/zone';
const zones: Readonly<Record<string, readonly string[]>> = {
  'm.1': ['a'],
  'm.2': ['a', 'b'],
  'c.1': ['b', 'c'],
};
const { offers } = at(
  worldOf(
    snapshotOf({
      pools: [
        {
          pool: poolOf('default'),
          instanceTypes: Object.entries(zones).map(([name, sold]) =>
            typeOf({
              name,
              cpuMillis: 2000,
              memoryBytes: gibibytes(8),
              labels: { family: name.charAt(0) },
              offerings: sold.map((zone) => offeringOf(zone, 'on-demand', 100)),
            }),
          ),
        },
      ],
    }),
    [],
    defaultPlanOptions,
  ).templates,
  0,
);
const named = (...types: readonly string[]): readonly Offer[] =>
  offers.filter(({ type }) => types.includes(type.type.name));

const nodeOf = (minValues: Template['minValues']) => ({
  template: { minValues },
  requirements: new Map(),
});

describe('the values of a key among offers', () => {
  test.each<[string, string, readonly Offer[], number]>([
    ['are none without offers', typeKey, [], 0],
    ['are none of a key that no type has', 'team', offers, 0],
    ['are as many as there are types', typeKey, offers, 3],
    ['count once for types that share them', 'family', named('m.1', 'm.2'), 1],
    ['count for types that differ', 'family', offers, 2],
    [
      'count the zones of offers, and not where else their types are sold',
      zoneKey,
      named('m.2').slice(0, 1),
      1,
    ],
    ['count each zone once', zoneKey, offers, 3],
  ])('%s', (_what, key, some, count) => expect(valuesAmong(new Map(), some, key)).toBe(count));

  test.each<[string, RequirementSpec, number]>([
    ['admits', { key: 'family', operator: 'In', values: ['c'] }, 1],
    ['does not exclude', { key: 'family', operator: 'NotIn', values: ['c'] }, 1],
    ['says nothing of', { key: 'team', operator: 'Exists', values: [] }, 2],
  ])('count if the node %s them', (_what, spec, count) =>
    expect(valuesAmong(requirementsOf([spec]), offers, 'family')).toBe(count),
  );

  test('are no fewer with more offers, and as many in any order', () =>
    fc.assert(
      fc.property(
        fc.shuffledSubarray([...offers]),
        fc.nat({ max: offers.length }),
        fc.constantFrom(typeKey, zoneKey, 'family', 'team'),
        (some, length, key) => {
          const all = valuesAmong(new Map(), some, key);
          expect(valuesAmong(new Map(), some.slice(0, length), key)).toBeLessThanOrEqual(all);
          expect(valuesAmong(new Map(), [...some].reverse(), key)).toBe(all);
          expect(valuesAmong(new Map(), [...some, ...some], key)).toBe(all);
        },
      ),
      { seed: 1 },
    ));
});

describe('minimum values', () => {
  test.each<[string, Template['minValues'], readonly Offer[], boolean]>([
    ['are met where none are demanded', [], [], true],
    ['are met exactly', [{ key: typeKey, count: 3 }], offers, true],
    ['are not met by one fewer', [{ key: typeKey, count: 3 }], named('m.1', 'm.2'), false],
    [
      'must be met for each key',
      [
        { key: typeKey, count: 2 },
        { key: 'family', count: 2 },
      ],
      named('m.1', 'm.2'),
      false,
    ],
  ])('%s', (_what, minValues, some, met) =>
    expect(meetsMinValues(nodeOf(minValues), some)).toBe(met),
  );

  test('stay met with more offers', () =>
    fc.assert(
      fc.property(
        fc.subarray([...offers]),
        fc.subarray([...offers]),
        fc.array(fc.record({ key: fc.constantFrom(typeKey, zoneKey), count: fc.nat({ max: 3 }) })),
        (some, more, minValues) => {
          fc.pre(meetsMinValues(nodeOf(minValues), some));
          expect(meetsMinValues(nodeOf(minValues), [...some, ...more])).toBe(true);
        },
      ),
      { seed: 1 },
    ));
});
