import type { InstanceType } from '@dovetail/core-ec2-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { sampleCatalog } from '../testing/samples.js';
import { decodeClassCatalog, encodeClassCatalog } from './index.js';
import { type PackedTypes, packTypes, unpackTypes } from './packed-types.js';

const [sample] = sampleCatalog.instanceTypes as [InstanceType];

/** Few different values, so that types share some of them. */
const few = <T>(...values: readonly T[]) => fc.constantFrom(...values);
const amounts = fc.dictionary(few('cpu', 'memory', 'pods', '__proto__'), few(0, 1, 2 ** 50));
const set = fc.record({
  kind: few('in' as const, 'notIn' as const),
  values: fc.uniqueArray(few('a', 'b', 'c')).map((values) => new Set(values.sort())),
  present: fc.boolean(),
});
const offering = fc.record({
  zone: few('a', 'b'),
  capacityType: few('on-demand' as const, 'spot' as const),
  priceMicrosPerHour: few(0, 1, 96_000),
  available: fc.boolean(),
  priceEstimated: fc.boolean(),
});
const type: fc.Arbitrary<InstanceType> = fc.record({
  name: few('m5.large', 'm5.xlarge'),
  requirements: fc
    .dictionary(few('zone', 'arch', 'size'), set)
    .map((sets) => new Map(Object.entries(sets))),
  offerings: fc.array(offering, { maxLength: 3 }),
  capacity: amounts,
  allocatable: amounts,
});

describe('packed types', () => {
  test('read as they were written, whatever they share', () =>
    fc.assert(
      fc.property(fc.array(type, { maxLength: 5 }), (types) => {
        const part = { ...sampleCatalog, instanceTypes: types };
        expect(decodeClassCatalog(encodeClassCatalog(part))).toEqual({ ok: true, value: part });
      }),
    ));

  const packed = packTypes([sample]);
  const [first] = packed.types as [PackedTypes['types'][number]];
  test.each<[string, Partial<PackedTypes>, RegExp]>([
    ['a label without a value set', { valueSets: [] }, /place 0 is outside of 0 values/],
    ['labels of no list', { types: [{ ...first, labelKeys: 99 }] }, /place 99 is outside/],
    ['a label more than value sets', { types: [{ ...first, labelSets: [] }] }, /stand beside 0/],
    ['a price too few', { types: [{ ...first, pricesMicrosPerHour: [] }] }, /stand beside 0/],
    ['a name of no text', { texts: [] }, /place 0 is outside of 0 values/],
  ])('with %s are refused', (_what, change, reason) =>
    expect(() => unpackTypes({ ...packed, ...change })).toThrow(reason),
  );
});
