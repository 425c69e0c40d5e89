import { claimValue, poolValue } from '@dovetail/core-api/testing';
import { plainTypeValue, typesByName } from '@dovetail/core-ec2-model/testing';
import type { RequirementSpec } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { claimUsage, leastOf, typesNamedBy, typesOfClaim, typesOfPool } from './catalog-view.js';
import { Cluster } from './cluster.js';

const types = typesByName(
  plainTypeValue('b', 4, { priceMicrosPerHour: 2 }),
  plainTypeValue('a', 2, { priceMicrosPerHour: 1 }),
  plainTypeValue('c', 8, { priceMicrosPerHour: 4 }),
);
const onType = (operator: 'In' | 'NotIn', ...values: readonly string[]): RequirementSpec => ({
  key: 'node.kubernetes.io/instance-type',
  operator,
  values,
});

describe('the types that requirements name', () => {
  test.each<[string, readonly RequirementSpec[], readonly string[]]>([
    ['are all without a requirement', [], ['a', 'b', 'c']],
    ['are those that are asked for, by name', [onType('In', 'c', 'a')], ['a', 'c']],
    ['are not those that the catalog lacks', [onType('In', 'x', 'a')], ['a']],
    ['are not those that are excluded', [onType('NotIn', 'a')], ['b', 'c']],
    ['are none when requirements exclude each other', [onType('In', 'a'), onType('In', 'b')], []],
    [
      'are not narrowed by other keys',
      [{ key: 'zone', operator: 'In', values: ['z'] }],
      ['a', 'b', 'c'],
    ],
  ])('%s', (_what, requirements, names) =>
    expect(typesNamedBy(requirements, types).map(({ name }) => name)).toEqual(names),
  );
});

describe('a claim takes of the limits of its pool', () => {
  test('its capacity, once launched', () =>
    expect(claimUsage(claimValue('c', { capacity: { cpu: 3 } }), types)).toEqual({ cpu: 3 }));
  test('the largest of its options until then', () =>
    expect(claimUsage(claimValue('c', { requirements: [onType('In', 'a', 'b')] }), types)).toEqual({
      cpu: 4,
      pods: 58,
    }));
  test('nothing, when no option is known', () =>
    expect(claimUsage(claimValue('c', { requirements: [onType('In', 'x')] }), types)).toEqual({}));
});

describe('the least', () => {
  test('of nothing is nothing', () => expect(leastOf([])).toEqual({}));
  test('is what all have: a resource that one lacks is none', () =>
    expect(leastOf([{ cpu: 2, gpu: 1 }, { cpu: 1 }])).toEqual({ cpu: 1, gpu: 0 }));
  test('is at most each, and one of them for each resource', () => {
    const resources = fc.record({ cpu: fc.nat(), pods: fc.nat() });
    fc.assert(
      fc.property(fc.array(resources, { minLength: 1 }), (all) => {
        for (const name of ['cpu', 'pods'] as const)
          expect(leastOf(all)[name]).toBe(Math.min(...all.map((one) => one[name])));
      }),
    );
  });
});

test('a claim is looked up with the kubelet settings of its pool', () => {
  const asked: unknown[] = [];
  const catalog = {
    revision: '',
    typesOf: (...question: readonly unknown[]) => {
      asked.push(question);
      return types;
    },
  };
  const cluster = new Cluster();
  const kubelet = { maxPods: 10 };
  const pool = poolValue('default', { kubelet });
  cluster.set('pool', pool);
  typesOfPool(catalog, pool);
  typesOfClaim(catalog, cluster, claimValue('c'));
  typesOfClaim(
    catalog,
    cluster,
    claimValue('c', { pool: { kind: 'Provisioner', name: 'default' } }),
  );
  expect(asked).toEqual([
    ['EC2NodeClass/default', kubelet],
    ['EC2NodeClass/default', kubelet],
    ['EC2NodeClass/default', undefined],
  ]);
});
