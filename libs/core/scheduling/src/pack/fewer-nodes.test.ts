import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { podsOf } from '../testing/objects.js';
import {
  asking,
  binWith,
  faultsOf,
  onePerNode,
  packingOf,
  rules,
  typesBy,
  workloadPods,
  workloadsOf,
} from '../testing/packing.js';
import { copyOf, totalPrice } from './bins.js';
import { priceWithin, withFewerNodes } from './fewer-nodes.js';

const pods = [
  ...podsOf('small', 40, asking(1, 1)),
  ...podsOf('apart', 4, { ...asking(1, 1), ...rules.apart('a') }),
];

/** Four nodes of two cores for 1,000 each, and the price of one of four cores. */
const joined = (
  larger: number,
  permille: number,
  contents: Readonly<Record<string, number>> = { small: 2 },
) => {
  const packing = packingOf(pods, { types: typesBy([2, 8, 1000], [4, 16, larger]) });
  const bins = [0, 1, 2, 3].map((id) => binWith(packing, contents, id));
  return withFewerNodes(packing.context, bins, permille);
};

describe('nodes are joined', () => {
  test.each<[string, number, number, number, number]>([
    ['where that costs less', 1900, 10, 2, 0],
    ['where that costs as much', 2000, 10, 2, 0],
    ['where that costs little more', 2020, 10, 2, 40],
    ['as far as the thousandths of the price go', 2040, 10, 3, 40],
    ['not where each costs too much more', 2041, 10, 4, 0],
    ['not without thousandths, even where that costs less', 1900, 0, 4, 0],
  ])('%s', (_, larger, permille, nodes, dearer) => {
    const fewer = joined(larger, permille);
    expect([fewer.bins.length, fewer.dearer]).toEqual([nodes, dearer]);
  });
  test('not where their pods keep apart', () =>
    expect(joined(1900, 10, { apart: 1 }).bins).toHaveLength(4));
  test('not where that moves pods to another zone, or to a lighter pool', () => {
    const packing = packingOf(pods, { types: typesBy([2, 8, 1000], [4, 16, 1900]) });
    const heavy = binWith(packing, { small: 2 }, 0);
    const { template } = heavy.state;
    const lighter = { ...template, pool: { ...template.pool, weight: template.pool.weight - 1 } };
    const light = { ...copyOf(heavy), id: 1, state: { ...heavy.state, template: lighter } };
    expect(withFewerNodes(packing.context, [heavy, light], 10).bins).toHaveLength(2);
  });
  test('not where a node keeps its share of a spread', () => {
    const packing = packingOf(pods, { types: typesBy([2, 8, 1000], [4, 16, 1900]) });
    const bins = [0, 1].map((id) => ({
      ...binWith(packing, { small: 2 }, id),
      base: new Map([[0, 1]]),
    }));
    expect(withFewerNodes(packing.context, bins, 10).bins).toHaveLength(2);
  });
});

test('the joined nodes lose no pod, break no rule, are no more, and cost little more than the least', () => {
  let fewer = 0;
  fc.assert(
    fc.property(workloadsOf('none', 'apart', 'spread', 'port', 'zone'), (workloads) => {
      const packing = packingOf(workloadPods(workloads));
      const { context } = packing;
      const bins = onePerNode(packing);
      const before = bins.map(copyOf);
      const made = withFewerNodes(context, bins, 10);
      const least = totalPrice(made.bins) - made.dearer;
      expect(faultsOf(context, made.bins)).toEqual([]);
      expect(least).toBeLessThanOrEqual(totalPrice(before));
      expect(totalPrice(made.bins)).toBeLessThanOrEqual(priceWithin(least, 10));
      expect(made.bins.length).toBeLessThanOrEqual(before.length);
      expect(bins).toEqual(before);
      if (made.bins.length < bins.length) fewer += 1;
    }),
    { seed: 1, numRuns: 100 },
  );
  expect(fewer).toBeGreaterThan(0);
});
