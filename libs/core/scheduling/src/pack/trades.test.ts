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
import { totalPrice } from './bins.js';
import { greedyPack } from './greedy.js';
import { withTrades } from './trades.js';

const types = typesBy([2, 4, 20], [4, 8, 40], [8, 16, 80], [16, 32, 160]);

/** Two pods that keep apart, and smaller ones beside them. */
const packing = packingOf(
  [
    ...podsOf('apart-', 2, { ...asking(1, 1), ...rules.apart('a') }),
    ...podsOf('wide-', 1, { ...asking(1, 1), ...rules.apart('b') }),
    ...podsOf('half-', 3, asking(0.5, 0.5)),
    ...podsOf('small-', 1, asking(0.25, 0.5)),
  ],
  { types },
);

describe('trades between nodes that must be apart', () => {
  test('a pod moves to where there is room, and the node that it leaves becomes cheaper', () => {
    const bins = [
      binWith(packing, { 'apart-': 1, 'half-': 3 }, 0),
      binWith(packing, { 'wide-': 1, 'small-': 1 }, 1),
    ];
    const traded = withTrades(packing.context, bins);
    expect(bins.map(({ price }) => price)).toEqual([40, 20]);
    expect(traded.map(({ price }) => price)).toEqual([20, 20]);
    expect(traded.map(({ pods }) => pods)).toEqual([3, 3]);
  });

  test('a large pod goes for a small one of the same rules, where there is no room for both', () => {
    const two = packingOf(
      [
        ...podsOf('large-', 1, { ...asking(1, 1), ...rules.apart('a') }),
        ...podsOf('small-', 1, { ...asking(0.5, 0.5), ...rules.apart('a') }),
        ...podsOf('rest-', 1, { requests: { cpu: 1400, memory: 1024 ** 3, pods: 1 } }),
        ...podsOf('less-', 1, { requests: { cpu: 800, memory: 1024 ** 3, pods: 1 } }),
      ],
      { types },
    );
    const traded = withTrades(two.context, [
      binWith(two, { 'large-': 1, 'rest-': 1 }, 0),
      binWith(two, { 'small-': 1, 'less-': 1 }, 1),
    ]);
    expect(traded.map(({ price }) => price)).toEqual([20, 20]);
    expect(traded.map(({ contents }) => contents.get(two.kind('large-').index))).toEqual([
      undefined,
      1,
    ]);
  });

  test('pods of different rules change places where both rules allow it', () => {
    const two = packingOf(
      [
        ...podsOf('large-', 1, { ...asking(1, 1), ...rules.apart('a') }),
        ...podsOf('small-', 1, { ...asking(0.5, 0.5), ...rules.apart('b') }),
        ...podsOf('rest-', 1, { requests: { cpu: 1400, memory: 1024 ** 3, pods: 1 } }),
        ...podsOf('less-', 1, { requests: { cpu: 800, memory: 1024 ** 3, pods: 1 } }),
      ],
      { types },
    );
    const traded = withTrades(two.context, [
      binWith(two, { 'large-': 1, 'rest-': 1 }, 0),
      binWith(two, { 'small-': 1, 'less-': 1 }, 1),
    ]);
    expect(traded.map(({ price }) => price)).toEqual([20, 20]);
    expect(faultsOf(two.context, traded)).toEqual([]);
  });

  test('nodes stay as they are where no rule decides how many there are', () => {
    const plain = packingOf(podsOf('pod-', 3, asking(1, 1)), { types });
    const bins = onePerNode(plain);
    expect(withTrades(plain.context, bins)).toBe(bins);
  });

  test('no node that keeps its share of a spread trades', () => {
    const bins = [
      binWith(packing, { 'apart-': 1, 'half-': 3 }, 0),
      binWith(packing, { 'wide-': 1, 'small-': 1 }, 1),
    ].map((bin) => ({ ...bin, base: new Map(bin.contents), opened: bin.state }));
    expect(withTrades(packing.context, bins).map(({ price }) => price)).toEqual([40, 20]);
  });
});

test('trades keep every pod and every rule, make no node dearer, and leave their input alone', () => {
  fc.assert(
    fc.property(
      workloadsOf('apart', 'none', 'spread', 'port', 'zone', 'apart'),
      fc.boolean(),
      (workloads, greedily) => {
        const any = packingOf(workloadPods(workloads), { types });
        const alone = onePerNode(any);
        const bins = greedily ? (greedyPack(any.context, true, () => false) ?? alone) : alone;
        const before = JSON.stringify(bins.map(({ price, pods }) => [price, pods]));
        const prices = new Map(bins.map(({ id, price }) => [id, price]));
        const traded = withTrades(any.context, bins);
        expect(faultsOf(any.context, traded)).toEqual([]);
        expect(totalPrice(traded)).toBeLessThanOrEqual(totalPrice(bins));
        for (const { id, price } of traded) expect(price).toBeLessThanOrEqual(prices.get(id) ?? -1);
        expect(JSON.stringify(bins.map(({ price, pods }) => [price, pods]))).toBe(before);
      },
    ),
    { numRuns: 150 },
  );
});
