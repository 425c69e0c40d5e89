import { present } from '@dovetail/core-invariant';
import type { RequirementSpec } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { assertLedgersHold } from '../laws.js';
import { greedyPack } from '../pack/greedy.js';
import type { PackBin } from '../pack/packing.js';
import type { Bin } from '../rooms/bin.js';
import { Engine } from '../rooms/engine.js';
import type { PlanOptions } from '../snapshot.js';
import { podsOf, poolOf } from '../testing/objects.js';
import {
  asking,
  type Packing,
  packingOf,
  typesBy,
  workloadPods,
  workloadsOf,
} from '../testing/packing.js';
import { replay } from './replay.js';

fc.configureGlobal({ seed: 1 });

const types = typesBy([2, 8, 100], [4, 16, 150]);

const binsOf = ({ context }: Packing): readonly PackBin[] =>
  present(
    greedyPack(context, true, () => false),
    'there is time to pack',
  );

/** Four pods, of which the larger type holds two for less, packed and opened on an engine. */
function replayed(
  pool: Parameters<typeof poolOf>[1],
  options: Partial<PlanOptions> = {},
): { readonly allowed: boolean; readonly engine: Engine } {
  const packing = packingOf(podsOf('p', 4, asking(2, 1)), {
    options,
    snapshot: { pools: [{ pool: poolOf('default', pool), instanceTypes: types }] },
  });
  const engine = new Engine(packing.world);
  return { allowed: replay(engine, packing.kinds, binsOf(packing)), engine };
}
const variety = (minValues: number): readonly RequirementSpec[] => [
  { key: 'node.kubernetes.io/instance-type', operator: 'Exists', values: [], minValues },
];

describe('a packing of two nodes', () => {
  test.each<[string, boolean, Parameters<typeof poolOf>[1], Partial<PlanOptions>]>([
    ['more nodes than the limit', false, { limits: { nodes: 1 } }, {}],
    ['more cores than the limit', false, { limits: { cpu: 7_999 } }, {}],
    ['fewer types than must stay possible', false, { requirements: variety(2) }, {}],
    [
      'fewer types than are wished for',
      true,
      { requirements: variety(2) },
      { minValuesPolicy: 'BestEffort' },
    ],
    ['as many types as must stay possible', true, { requirements: variety(1) }, {}],
    ['as many nodes as the limit', true, { limits: { nodes: 2 } }, {}],
    ['as many cores as the limit', true, { limits: { cpu: 8_000 } }, {}],
    ['no limit', true, {}, {}],
  ])('with %s is allowed: %j', (_, allowed, pool, options) =>
    expect(replayed(pool, options).allowed).toBe(allowed),
  );

  test('is charged to the limits of its pool, node by node', () => {
    const { engine } = replayed({ limits: { nodes: 3 } });
    expect(engine.accounts.left(present(engine.world.templates[0], 'a pool'), 'nodes')).toBe(1);
    expect(engine.fresh.map(({ offer }) => offer?.type.type.name)).toEqual(['c4-m16', 'c4-m16']);
  });

  test('marks nodes that keep fewer types than are wished', () => {
    const relaxed = (minValues: number) =>
      replayed(
        { requirements: variety(minValues) },
        { minValuesPolicy: 'BestEffort' },
      ).engine.fresh.map(({ minValuesRelaxed }) => minValuesRelaxed);
    expect(relaxed(2)).toEqual([true, true]);
    expect(relaxed(1)).toEqual([false, false]);
  });
});

describe('any packing', () => {
  const anyPacking = workloadsOf('none', 'apart', 'spread', 'port', 'zone').map((workloads) =>
    packingOf(workloadPods(workloads)),
  );
  const contentsOf = ({ contents }: Bin): Record<string, number> => {
    const byClass: Record<string, number> = {};
    for (const [{ cls }, count] of contents) byClass[cls.index] = (byClass[cls.index] ?? 0) + count;
    return byClass;
  };

  test('is opened as it was packed: each node its state, load, pods and price', () =>
    fc.assert(
      fc.property(anyPacking, (packing) => {
        const bins = binsOf(packing);
        const engine = new Engine(packing.world);
        expect(replay(engine, packing.kinds, bins)).toBe(true);
        expect(engine.fresh.map((bin) => bin.state)).toEqual(bins.map(({ state }) => state));
        expect(engine.fresh.map(({ pods }) => pods)).toEqual(bins.map(({ pods }) => pods));
        expect(engine.fresh.map(({ used }) => used)).toEqual(bins.map(({ used }) => used));
        expect(engine.fresh.map((bin) => engine.priceOf(bin))).toEqual(
          bins.map(({ price }) => price),
        );
      }),
    ));

  test('hands each pod of its kinds out once, and no node more than it holds', () =>
    fc.assert(
      fc.property(anyPacking, (packing) => {
        const engine = new Engine(packing.world);
        replay(engine, packing.kinds, binsOf(packing));
        const handed: Record<string, number> = {};
        for (const bin of engine.fresh)
          for (const [index, count] of Object.entries(contentsOf(bin)))
            handed[index] = (handed[index] ?? 0) + count;
        expect(handed).toEqual(
          Object.fromEntries(packing.world.classes.map(({ index, uids }) => [index, uids.length])),
        );
        assertLedgersHold(engine);
      }),
    ));

  test('replayed again gives the same nodes again', () =>
    fc.assert(
      fc.property(anyPacking, (packing) => {
        const bins = binsOf(packing);
        const [one, two] = [0, 1].map(() => {
          const engine = new Engine(packing.world);
          replay(engine, packing.kinds, bins);
          return engine.fresh.map((bin) => [bin.index, bin.state?.id, contentsOf(bin)]);
        });
        expect(one).toEqual(two);
      }),
    ));
});
