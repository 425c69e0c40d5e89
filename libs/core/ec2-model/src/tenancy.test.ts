import { labels } from '@dovetail/core-api';
import { requirementsOf, type RequirementSpec } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import type { InstanceType } from './instance-type.js';
import { instanceLabels } from './labels.js';
import { tenancyOfPool, withTenancy } from './tenancy.js';
import { instanceTypeValue, offeringValue } from './testing/index.js';

const tenancy = (operator: RequirementSpec['operator'], ...values: string[]): RequirementSpec => ({
  key: instanceLabels.tenancy,
  operator,
  values,
});

test.each<[string, readonly RequirementSpec[], Readonly<Record<string, string>>, string]>([
  ['no requirement', [], {}, 'default'],
  ['both', [tenancy('In', 'default', 'dedicated')], {}, 'default'],
  ['dedicated', [tenancy('In', 'dedicated')], {}, 'dedicated'],
  ['all but the default', [tenancy('NotIn', 'default')], {}, 'dedicated'],
  ['a label', [], { [instanceLabels.tenancy]: 'dedicated' }, 'dedicated'],
  ['hosts', [tenancy('In', 'host')], {}, 'default'],
])('a pool with %s is planned on %s hosts', (_, requirements, poolLabels, wanted) =>
  expect(tenancyOfPool({ requirements, labels: poolLabels })).toBe(wanted),
);

describe('the types of a pool on dedicated hosts', () => {
  const type = {
    ...instanceTypeValue({
      name: 'm5.large',
      cpuMillis: 2_000,
      memoryBytes: 2 ** 33,
      labels: { [instanceLabels.tenancy]: 'default' },
      offerings: [
        offeringValue('a', 'on-demand', 96_000),
        offeringValue('b', 'on-demand', 96_000, { available: false }),
        offeringValue('a', 'spot', 30_000),
      ],
    }),
    dedicatedPrice: { micros: 102_000, estimated: true },
  };
  const { dedicatedPrice: _price, ...unpriced } = type;
  const types = new Map<string, InstanceType>([
    ['m5.large', type],
    ['c5.large', { ...unpriced, name: 'c5.large' }],
  ]);
  const made = withTenancy(types, 'dedicated');

  test('cost their own price, on demand, where and while they are offered', () =>
    expect(made.get('m5.large')?.offerings).toEqual([
      offeringValue('a', 'on-demand', 102_000, { priceEstimated: true }),
      offeringValue('b', 'on-demand', 102_000, { priceEstimated: true, available: false }),
    ]));
  test('say so in their labels', () => {
    const found = made.get('m5.large')?.requirements;
    expect(found?.get(instanceLabels.tenancy)?.values).toEqual(new Set(['dedicated']));
    expect(found?.get(labels.capacityType)?.values).toEqual(new Set(['on-demand']));
  });
  test('stay on shared hosts where no dedicated price is known, and so are refused', () => {
    const left = made.get('c5.large');
    expect(left).toBe(types.get('c5.large'));
    const wanted = requirementsOf([tenancy('In', 'dedicated')]).get(instanceLabels.tenancy);
    const offered = left?.requirements.get(instanceLabels.tenancy)?.values;
    expect([...(offered ?? [])].some((value) => wanted?.values.has(value))).toBe(false);
  });
  test('are made once, and are those of the class for any other pool', () => {
    expect(withTenancy(types, 'dedicated')).toBe(made);
    expect(withTenancy(types, 'default')).toBe(types);
  });
});
