import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import {
  allocatableOf,
  type CapacityClass,
  catalogFacts,
  catalogFor,
  catalogRegions,
} from '@dovetail/core-ec2-model';
import { expect, test } from 'vitest';

/**
 * The bundled catalog against Karpenter 1.14.0's own code, as bench/peers/karpenter-allocatable
 * printed it. Interfaces, addresses and branch interfaces are from Karpenter's table.
 */
const golden = new Map(
  readFileSync(join(import.meta.dirname, 'karpenter-allocatable.txt'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]),
);

const plainClass: CapacityClass = { amiFamily: 'AL2023', kubelet: {}, blockDeviceMappings: [] };

function allocatableText(name: string): string {
  const facts = catalogFacts(name);
  if (facts === undefined) return 'is not in the catalog';
  return Object.entries(allocatableOf(facts, plainClass))
    .filter(([, amount]) => amount !== 0)
    .map(([resource, amount]) => `${resource}=${amount}`)
    .sort()
    .join(' ');
}

test('the golden file has every type of the catalog, and no other', () => {
  const known = new Set(
    catalogRegions().flatMap((region) => catalogFor(region).map(({ facts }) => facts.name)),
  );
  expect([...golden.keys()].toSorted()).toEqual([...known].toSorted());
  // Karpenter documents 1,363 types.
  expect(known.size).toBeGreaterThanOrEqual(1_363);
});

test('every type of the catalog has to give what Karpenter says', () => {
  const differing = [...golden]
    .map(([name, wanted]) => ({ name, wanted, have: allocatableText(name) }))
    .filter(({ wanted, have }) => wanted !== have);
  expect(differing).toEqual([]);
});
