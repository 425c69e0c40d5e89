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
import { mergeSmallest } from './merge.js';

const pods = [
  ...podsOf('small', 40, asking(1, 1)),
  ...podsOf('apart', 4, { ...asking(1, 1), ...rules.apart('a') }),
  ...podsOf('zonal', 4, { ...asking(1, 1), ...rules.zone() }),
  ...podsOf('elsewhere', 4, {
    ...asking(1, 1),
    nodeSelector: { 'topology.kubernetes.io/zone': 'zone-a' },
  }),
];

describe('small nodes', () => {
  test.each<
    [
      string,
      number,
      readonly Readonly<Record<string, number>>[],
      readonly (readonly [number, number])[],
    ]
  >([
    ['become one that costs as much as both', 20, [{ small: 2 }, { small: 2 }], [[4, 20]]],
    ['become one that costs less than both', 15, [{ small: 2 }, { small: 2 }], [[4, 15]]],
    [
      'stay apart when one node for both is dearer',
      21,
      [{ small: 2 }, { small: 2 }],
      [
        [2, 10],
        [2, 10],
      ],
    ],
    [
      'stay apart when no node holds both',
      20,
      [{ small: 4 }, { small: 2 }],
      [
        [4, 20],
        [2, 10],
      ],
    ],
    ['join the room that another has to spare', 30, [{ small: 3 }, { small: 1 }], [[4, 30]]],
    [
      'stay apart when their pods keep apart',
      20,
      [{ apart: 1 }, { apart: 1 }],
      [
        [1, 10],
        [1, 10],
      ],
    ],
    [
      'stay apart when their pods are of two zones',
      20,
      [{ zonal: 1 }, { elsewhere: 1 }],
      [
        [1, 10],
        [1, 10],
      ],
    ],
    ['of one zone become one', 20, [{ zonal: 1 }, { zonal: 1 }], [[2, 10]]],
    [
      'are merged again while that costs no more',
      20,
      [{ small: 1 }, { small: 1 }, { small: 1 }, { small: 1 }],
      [[4, 20]],
    ],
    ['that is alone stays', 20, [{ small: 1 }], [[1, 10]]],
    ['that do not exist stay so', 20, [], []],
  ])('%s', (_sentence, larger, contents, expected) => {
    const packing = packingOf(pods, { types: typesBy([2, 8, 10], [4, 16, larger]) });
    const bins = contents.map((one, index) => binWith(packing, one, index));
    expect(mergeSmallest(packing.context, bins).map((bin) => [bin.pods, bin.price])).toEqual(
      expected,
    );
  });
});

test('merging loses no pod, breaks no rule, costs no more and leaves the nodes given as they were', () => {
  let fewer = 0;
  fc.assert(
    fc.property(workloadsOf('none', 'apart', 'spread', 'port', 'zone'), (workloads) => {
      const packing = packingOf(workloadPods(workloads));
      const { context } = packing;
      const bins = onePerNode(packing);
      const before = bins.map(copyOf);
      const merged = mergeSmallest(context, bins);
      expect(faultsOf(context, merged)).toEqual([]);
      expect(totalPrice(merged)).toBeLessThanOrEqual(totalPrice(before));
      expect(merged.length).toBeLessThanOrEqual(before.length);
      expect(bins).toEqual(before);
      if (merged.length < bins.length) fewer += 1;
    }),
    { seed: 1, numRuns: 100 },
  );
  expect(fewer).toBeGreaterThan(0);
});
