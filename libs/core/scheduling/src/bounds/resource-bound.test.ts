import type { Pod } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { compose } from '../compose/compose.js';
import { defaultPlanOptions } from '../options.js';
import type { Snapshot } from '../snapshot.js';
import { nodeOf, podOf, podsOf, poolOf, snapshotOf } from '../testing/objects.js';
import { asking, rules, typesBy, workloadPods, workloadsOf } from '../testing/packing.js';
import { mixedWorld } from '../testing/worlds.js';
import { type World, worldOf } from '../world/world.js';
import { resourceBound } from './resource-bound.js';

fc.configureGlobal({ seed: 1 });

// A core costs 50,000 on the larger type and 60,000 on the smaller; memory is never scarce.
const types = typesBy([1, 8, 60_000], [4, 32, 200_000]);

function worldFor(pods: readonly Pod[], over: Partial<Snapshot> = {}): World {
  const snapshot = snapshotOf({
    pools: [{ pool: poolOf('default'), instanceTypes: types }],
    ...over,
  });
  return worldOf(snapshot, pods, defaultPlanOptions);
}
/** The bound, without the millionth by which prices are rounded down. */
function boundOf(pods: readonly Pod[], over?: Partial<Snapshot>) {
  const { kind, priceMicrosPerHour } = resourceBound(compose(worldFor(pods, over)).engine);
  return { kind, priceMicrosPerHour: Math.ceil(priceMicrosPerHour / 10) * 10 };
}
const none = { kind: 'none', priceMicrosPerHour: 0 };
const bound = (priceMicrosPerHour: number) => ({ kind: 'aggregate-lp', priceMicrosPerHour });

describe('the bound by resource prices', () => {
  test.each<[string, ReturnType<typeof boundOf>, ReturnType<typeof bound> | typeof none]>([
    ['is none without pods', boundOf([]), none],
    ['is none for pods that have no place', boundOf([podOf('p', asking(5, 1))]), none],
    [
      'is none for pods that existing nodes have room for',
      boundOf([podOf('p', asking(2, 1))], { nodes: [nodeOf('n')] }),
      none,
    ],
    [
      'is the price of their fractions of the best nodes',
      boundOf(podsOf('p', 3, asking(1, 1))),
      bound(150_000),
    ],
    [
      'is the price of what existing nodes have no room for',
      boundOf(podsOf('p', 6, asking(1, 1)), {
        pools: [{ pool: poolOf('default'), instanceTypes: types }],
        nodes: [nodeOf('n')],
      }),
      bound(100_000),
    ],
    [
      'takes all room of existing nodes for usable, also where rules forbid it',
      boundOf(podsOf('p', 2, { ...asking(4, 1), ...rules.zone() }), {
        pools: [{ pool: poolOf('default'), instanceTypes: types }],
        nodes: [nodeOf('n')],
      }),
      bound(200_000),
    ],
    [
      'takes every offer of every pool for usable',
      boundOf(podsOf('p', 1, { ...asking(1, 1), nodeSelector: { team: 'blue' } }), {
        pools: [
          {
            pool: poolOf('blue', { labels: { team: 'blue' } }),
            instanceTypes: typesBy([1, 8, 60_000]),
          },
          { pool: poolOf('other'), instanceTypes: types },
        ],
      }),
      bound(50_000),
    ],
  ])('%s', (_, made, expected) => expect(made).toEqual(expected));

  const pricesOf = (world: World): readonly [price: number, bound: number] => {
    const { engine } = compose(world);
    const filled = engine.fresh.filter(({ contents }) => contents.size > 0);
    const price = filled.reduce((sum, bin) => sum + engine.priceOf(bin), 0);
    return [price, resourceBound(engine).priceMicrosPerHour];
  };

  test('is beaten by no plan, in any world', () =>
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), (seed) => {
        const { snapshot, pods, options } = mixedWorld(seed);
        const [price, least] = pricesOf(worldOf(snapshot, pods, options));
        expect(least).toBeLessThanOrEqual(price);
        expect(Number.isInteger(least)).toBe(true);
      }),
      { numRuns: 40 },
    ));

  test('does not fall when a pod is added that must be bought room for', () =>
    fc.assert(
      fc.property(workloadsOf('none'), (workloads) => {
        const pods = workloadPods(workloads);
        const [, few] = pricesOf(worldFor(pods));
        const [, more] = pricesOf(worldFor([...pods, podOf('one-more', asking(1, 1))]));
        expect(more).toBeGreaterThanOrEqual(few);
      }),
      { numRuns: 40 },
    ));
});
