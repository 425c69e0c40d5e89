import { poolValue } from '@dovetail/core-api/testing';
import { classKey } from '@dovetail/core-cluster';
import type { InstanceType } from '@dovetail/core-ec2-model';
import { instanceTypeValue, offeringValue } from '@dovetail/core-ec2-model/testing';
import { gibibytes } from '@dovetail/core-kube-model/testing';
import { expect, test } from 'vitest';

import { offeringSamples } from './offering-samples.js';

const pool = poolValue('default');
const large = instanceTypeValue({
  name: 'c5.large',
  cpuMillis: 2_000,
  memoryBytes: gibibytes(3.5),
  labels: { 'karpenter.k8s.aws/instance-cpu': '2', 'karpenter.k8s.aws/instance-memory': '4096' },
  offerings: [
    offeringValue('us-west-2a', 'on-demand', 85_000),
    offeringValue('us-west-2a', 'spot', 30_000),
    offeringValue('us-west-2b', 'spot', 31_000),
  ],
});
const types: ReadonlyMap<string, InstanceType> = new Map([[large.name, large]]);
/** The same types, of which nothing can be had. */
const soldOut = new Map(
  [...types].map(([name, type]) => [
    name,
    { ...type, offerings: type.offerings.map((one) => ({ ...one, available: false })) },
  ]),
);

/** The values of a metric, where pools of these names have these types. */
function valuesOf(
  metric: string,
  ofPools: Readonly<Record<string, ReadonlyMap<string, InstanceType>>>,
): readonly number[] {
  const pools = Object.keys(ofPools).map((name) => ({
    ...poolValue(name),
    classRef: { ...pool.classRef, name },
  }));
  const typesOf = (key: string) =>
    ofPools[pools.find(({ classRef }) => classKey(classRef) === key)?.classRef.name ?? ''] ??
    new Map<string, InstanceType>();
  const samples = offeringSamples({ pools: { values: () => pools }, catalog: { typesOf } });
  return [...(samples[`karpenter_cloudprovider_instance_type_${metric}`]?.() ?? [])].map(
    ({ value }) => value,
  );
}

test.each([
  ['cpu_cores', [2]],
  ['memory_bytes', [4 * 1024 ** 3]],
])('the types of a pool show %s as AWS sells them', (metric, values) =>
  expect(valuesOf(metric, { a: types })).toEqual(values),
);

test('prices are in dollars an hour', () => {
  expect(valuesOf('offering_price_estimate', { a: types })).toEqual([0.085, 0.03, 0.031]);
});

test('an offering that any pool can have is available, whatever the order of pools', () => {
  const available = (first: typeof types, second: typeof types): number =>
    valuesOf('offering_available', { a: first, b: second }).filter((value) => value === 1).length;
  expect(available(types, soldOut)).toBe(available(soldOut, types));
  expect(available(types, soldOut)).toBe(3);
  expect(available(soldOut, soldOut)).toBe(0);
});

test('two pools of the same types show each of them once', () =>
  expect(valuesOf('offering_available', { a: types, b: types })).toEqual([1, 1, 1]));

test('without pools there is nothing', () =>
  expect(valuesOf('offering_available', {})).toEqual([]));
