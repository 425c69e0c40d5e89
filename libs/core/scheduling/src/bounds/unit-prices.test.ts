import { describe, expect, test } from 'vitest';

import { defaultPlanOptions } from '../options.js';
import { podsOf, poolOf, snapshotOf } from '../testing/objects.js';
import { asking, typesBy } from '../testing/packing.js';
import { unitPricesOf } from './unit-prices.js';

const types = typesBy([2, 8, 100_000], [2, 16, 120_000]);
const selling = snapshotOf({ pools: [{ pool: poolOf('default'), instanceTypes: types }] });
const pricesFor = (cores: number, gib: number, snapshot = selling): ReadonlyMap<string, number> =>
  unitPricesOf(snapshot, podsOf('web', 4, asking(cores, gib)), defaultPlanOptions);

describe('the price of one unit of a resource', () => {
  test('is zero for what is never short', () => {
    expect(pricesFor(1, 1).has('memory')).toBe(false);
    expect(pricesFor(1, 1).get('cpu')).toBeGreaterThan(0);
  });

  test('makes no node cheaper than all that it holds', () => {
    const prices = pricesFor(1, 6);
    const worth = (cpu: number, memory: number): number =>
      cpu * (prices.get('cpu') ?? 0) + memory * (prices.get('memory') ?? 0);
    for (const { allocatable, offerings } of types)
      expect(worth(allocatable['cpu'] ?? 0, allocatable['memory'] ?? 0)).toBeLessThanOrEqual(
        Math.max(...offerings.map(({ priceMicrosPerHour }) => priceMicrosPerHour)),
      );
    expect([...prices.keys()].toSorted()).toEqual(['cpu', 'memory']);
  });

  test('is unknown if nothing can be bought', () =>
    expect(pricesFor(1, 1, snapshotOf()).size).toBe(0));
});
