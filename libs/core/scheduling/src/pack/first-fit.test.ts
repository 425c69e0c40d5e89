import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { podsOf } from '../testing/objects.js';
import {
  asking,
  faultsOf,
  packed,
  packingOf,
  rules,
  typesBy,
  workloadPods,
  workloadsOf,
} from '../testing/packing.js';
import { totalPrice } from './bins.js';
import { firstFitPack } from './first-fit.js';

const types = typesBy([2, 8, 10], [4, 16, 20]);

describe('first fit', () => {
  test.each<[string, Parameters<typeof podsOf>[2], number, readonly number[]]>([
    ['fills one node before it opens the next', asking(1, 1), 6, [4, 2]],
    ['opens a node for each pod that fills one', asking(4, 4), 3, [1, 1, 1]],
    ['opens a node for each pod that keeps apart', rules.apart('a'), 3, [1, 1, 1]],
    ['opens a node for each pod with the same host port', rules.port(), 2, [1, 1]],
  ])('%s', (_sentence, pod, count, pods) => {
    const { context } = packingOf(podsOf('one', count, pod), { types });
    expect(firstFitPack(context, Infinity)?.map((bin) => bin.pods)).toEqual(pods);
  });

  test('puts a pod on the node with the fewest pods that takes it', () => {
    const { context, kind } = packingOf(
      [...podsOf('large', 2, asking(3, 4)), ...podsOf('small', 2, asking(0.5, 1))],
      { types },
    );
    const bins = firstFitPack(context, Infinity) ?? [];
    expect(bins.map(({ contents }) => contents.get(kind('small').index))).toEqual([1, 1]);
  });

  test('packs only so many of each kind as it is asked for', () => {
    const { context, kinds, kind } = packingOf(
      [...podsOf('large', 5, asking(3, 4)), ...podsOf('small', 5, asking(0.5, 1))],
      { types },
    );
    const counts = new Int32Array(kinds.length);
    counts[kind('small').index] = 2;
    const bins = firstFitPack(context, Infinity, counts) ?? [];
    expect([packed(bins, kind('large')), packed(bins, kind('small'))]).toEqual([0, 2]);
  });

  test.each<[string, number, boolean]>([
    ['is given up when it costs more than the most', 39, false],
    ['is not given up when it costs as much as the most', 40, true],
  ])('%s', (_sentence, most, done) => {
    const { context } = packingOf(podsOf('one', 2, asking(4, 4)), { types });
    expect(firstFitPack(context, most) !== undefined).toBe(done);
  });

  test('is given up before its end when thousands of pods are too dear', () => {
    const { context } = packingOf(podsOf('one', 2_000, rules.apart('a')), { types });
    expect(firstFitPack(context, 19_999)).toBeUndefined();
    expect(firstFitPack(context, 20_000)).toHaveLength(2_000);
  });
});

test('any pods are packed once each, by the rules, and for no less than the bound', () => {
  fc.assert(
    fc.property(workloadsOf('none', 'apart', 'spread', 'port', 'zone'), (workloads) => {
      const { context } = packingOf(workloadPods(workloads));
      const bins = firstFitPack(context, Infinity) ?? [];
      expect(faultsOf(context, bins)).toEqual([]);
      expect(totalPrice(bins)).toBeGreaterThanOrEqual(context.bound);
      expect(firstFitPack(context, totalPrice(bins))).toEqual(bins);
      expect(firstFitPack(context, totalPrice(bins) - 1)).toBeUndefined();
    }),
    { seed: 1, numRuns: 60 },
  );
});
