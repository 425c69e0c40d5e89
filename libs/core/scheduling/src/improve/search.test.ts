import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { balancedPack } from '../pack/balanced.js';
import { copyOf, totalPrice } from '../pack/bins.js';
import { firstFitPack } from '../pack/first-fit.js';
import type { PackBin, PackContext } from '../pack/packing.js';
import { podsOf } from '../testing/objects.js';
import {
  asking,
  binWith,
  faultsOf,
  packingOf,
  rules,
  typesBy,
  workloadPods,
  workloadsOf,
} from '../testing/packing.js';
import { improve, type Searched, type SearchLimits } from './search.js';

const improved = (
  context: PackContext,
  bins: readonly PackBin[],
  over: Partial<SearchLimits> = {},
): Searched =>
  improve(context, bins, { seed: 1, stepsMax: 50, stepsMin: 0, shouldStop: () => false, ...over });
const contentsOf = (bins: readonly PackBin[]): readonly object[] =>
  bins.map(({ id, price, contents }) => ({ id, price, contents: [...contents] }));

const types = typesBy([2, 8, 10], [4, 16, 19], [8, 32, 38]);

describe('the search', () => {
  const packing = packingOf(podsOf('one', 8, asking(1, 4)), { types });
  const { context } = packing;
  const scattered = [1, 1, 1, 1, 1, 1, 1, 1].map((one, id) => binWith(packing, { one }, id));

  test.each<[string, readonly PackBin[], Partial<SearchLimits>, readonly [number, number]]>([
    ['takes no step when it may take none', scattered, { stepsMax: 0 }, [0, 80]],
    ['takes no step when it is to stop at once', scattered, { shouldStop: () => true }, [0, 80]],
    ['takes no step where there are no nodes', [], {}, [0, 0]],
  ])('%s', (_sentence, bins, limits, [steps, price]) => {
    const found = improved(context, bins, limits);
    expect([found.steps, totalPrice(found.bins)]).toEqual([steps, price]);
  });

  test('finds the cheapest nodes for pods that fill them', () => {
    const { bins } = improved(context, scattered, { stepsMax: 500 });
    expect(faultsOf(context, bins)).toEqual([]);
    expect(totalPrice(bins)).toBe(38);
  });

  test('takes no step when nothing can cost less: the nodes cost what the bound says', () => {
    const bins = [binWith(packing, { one: 8 })];
    expect(improved({ ...context, bound: 38 }, bins).steps).toBe(0);
    expect(improved({ ...context, bound: 37 }, bins).steps).toBe(50);
  });

  test.each([
    ['ends when it is stale, if asked to', { untilStale: true }, 2 * (300 + 8)],
    ['else goes on from the cheapest nodes', {}, 1_000],
  ])('%s', (_sentence, limits, steps) => {
    const bins = [binWith(packing, { one: 8 })];
    expect(improved({ ...context, bound: 37 }, bins, { stepsMax: 1_000, ...limits }).steps).toBe(
      steps,
    );
  });

  test('is asked before each step whether to stop', () => {
    let asked = 0;
    const shouldStop = (): boolean => (asked += 1) > 7;
    expect(improved({ ...context, bound: 0 }, scattered, { shouldStop }).steps).toBe(7);
  });
});

test('any packing stays whole, gets no dearer, and comes out equal for equal seeds', () => {
  let cheaper = 0;
  fc.assert(
    fc.property(
      workloadsOf('none', 'apart', 'spread', 'port', 'zone'),
      fc.integer({ min: 1, max: 1_000 }),
      (workloads, seed) => {
        const { context } = packingOf(workloadPods(workloads));
        const bins = firstFitPack(context, Infinity) ?? [];
        const found = improved(context, bins.map(copyOf), { seed });
        expect(faultsOf(context, found.bins)).toEqual([]);
        expect(new Set(found.bins.map(({ id }) => id)).size).toBe(found.bins.length);
        expect(totalPrice(found.bins)).toBeLessThanOrEqual(totalPrice(bins));
        expect(totalPrice(found.bins)).toBeGreaterThanOrEqual(context.bound);
        const again = improved(context, bins.map(copyOf), { seed });
        expect([again.steps, contentsOf(again.bins)]).toEqual([
          found.steps,
          contentsOf(found.bins),
        ]);
        if (totalPrice(found.bins) < totalPrice(bins)) cheaper += 1;
      },
    ),
    { seed: 1, numRuns: 40 },
  );
  expect(cheaper).toBeGreaterThan(5);
});

test('more steps with the same seed never cost more', () => {
  fc.assert(
    fc.property(
      workloadsOf('none', 'apart'),
      fc.integer({ min: 1, max: 1_000 }),
      (workloads, seed) => {
        const { context } = packingOf(workloadPods(workloads));
        const bins = firstFitPack(context, Infinity) ?? [];
        const prices = [0, 5, 20, 60].map((stepsMax) =>
          totalPrice(improved(context, bins.map(copyOf), { seed, stepsMax }).bins),
        );
        expect(prices).toEqual([...prices].sort((a, b) => b - a));
      },
    ),
    { seed: 2, numRuns: 20 },
  );
});

test('nodes that share a hostname spread keep their shares, however long the search', () => {
  const packing = packingOf([
    ...podsOf('one', 15, { ...asking(1, 2), ...rules.spread('a') }),
    ...podsOf('free', 20, asking(0.5, 3)),
    ...podsOf('more', 9, asking(1.5, 1)),
  ]);
  const balanced = balancedPack(packing.context, {
    nodes: 15,
    standing: () => Infinity,
    shouldStop: () => false,
  });
  if (balanced === undefined) throw new Error('nothing was shared');
  for (const seed of [1, 2, 3]) {
    const { bins } = improved(balanced.context, balanced.bins, { seed, stepsMax: 200 });
    expect(faultsOf(balanced.context, bins)).toEqual([]);
    expect(bins).toHaveLength(balanced.bins.length);
    const counts = bins.map(({ contents }) => contents.get(packing.kind('one').index) ?? 0);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
  }
});
