import { at } from '@dovetail/core-invariant';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { emptyBin, putKind, totalPrice } from '../pack/bins.js';
import { firstFitPack } from '../pack/first-fit.js';
import type { PackBin } from '../pack/packing.js';
import { podsOf } from '../testing/objects.js';
import {
  asking,
  binWith,
  faultsOf,
  type Packing,
  packingOf,
  rules,
  typesBy,
  workloadPods,
  workloadsOf,
} from '../testing/packing.js';
import { RandomNumbers } from './random-numbers.js';
import { type BinIds, Rebuild } from './rebuild.js';
import { UnpackedPods } from './unpacked-pods.js';

type Given = {
  readonly budget: number;
  readonly old: readonly PackBin[];
  readonly kept?: readonly PackBin[];
  readonly seed?: number;
  readonly ids?: BinIds;
};

function rebuilt(
  { context, kinds }: Packing,
  { budget, old, kept = [], seed = 1, ids = { next: 100 } }: Given,
): readonly PackBin[] | undefined {
  const unpacked = new UnpackedPods(kinds.length);
  unpacked.add(context, old);
  return new Rebuild(context, new RandomNumbers(seed), unpacked, ids).run(budget, old, kept);
}
/** A node with nothing but what it must keep. */
function shellOf({ context, kinds }: Packing, bin: PackBin): PackBin {
  const shell = {
    ...emptyBin(context, bin.id, bin.state),
    base: bin.base ?? new Map<number, number>(),
  };
  for (const [index, count] of shell.base) putKind(context, shell, at(kinds, index), count);
  return shell;
}

const types = typesBy([2, 8, 10], [4, 16, 19], [8, 32, 38]);

describe('dissolved nodes', () => {
  const packing = packingOf(podsOf('one', 8, asking(1, 4)), { types });
  const old = [2, 2, 3, 1].map((count, id) => binWith(packing, { one: count }, id));

  test.each([1, 2, 3, 4, 5])('become the cheapest one that takes everything (seed %i)', (seed) => {
    const bins = rebuilt(packing, { budget: 49, old, seed }) ?? [];
    expect(bins.map(({ pods, price }) => [pods, price])).toEqual([[8, 38]]);
  });

  test.each([1, 2, 3, 4, 5])('stay dissolved when nothing costs so little (seed %i)', (seed) => {
    expect(rebuilt(packing, { budget: 37, old, seed })).toBeUndefined();
  });

  test('that held nothing come to nothing', () => {
    expect(rebuilt(packing, { budget: 0, old: [] })).toEqual([]);
  });
});

describe('dissolved nodes that must keep pods', () => {
  const packing = packingOf(
    [
      ...podsOf('one', 6, asking(1, 4)),
      ...podsOf('apart', 2, { ...asking(1, 4), ...rules.apart('a') }),
    ],
    { types },
  );
  const keeps = new Map([[packing.kind('apart').index, 1]]);
  const old = [1, 5].map((one, id) => ({
    ...binWith(packing, { one, apart: 1 }, id),
    base: keeps,
  }));

  test('are the only ones that are filled again, each with the pods that it keeps', () => {
    let done = 0;
    for (let seed = 1; seed <= 20; seed += 1) {
      const kept = old.map((bin) => shellOf(packing, bin));
      const bins = rebuilt(packing, { budget: totalPrice(old), old, kept, seed });
      if (bins === undefined) continue;
      done += 1;
      expect(faultsOf(packing.context, bins)).toEqual([]);
      expect(bins.map(({ id }) => id).sort((a, b) => a - b)).toEqual([0, 1]);
      for (const { contents } of bins) expect(contents.get(packing.kind('apart').index)).toBe(1);
    }
    expect(done).toBeGreaterThan(0);
  });

  test('stay dissolved when a pod may join none of them: no other node is opened', () => {
    const loose = binWith(packing, { apart: 1 });
    const kept = old.map((bin) => shellOf(packing, bin));
    expect(rebuilt(packing, { budget: 1_000, old: [loose], kept })).toBeUndefined();
    expect(rebuilt(packing, { budget: 1_000, old: [loose] })).toHaveLength(1);
  });
});

test('whatever is dissolved, each pod is on one node again, by the rules and within the budget', () => {
  let done = 0;
  fc.assert(
    fc.property(
      workloadsOf('none', 'apart', 'spread', 'port', 'zone'),
      fc.integer({ min: 1, max: 1_000 }),
      fc.constantFrom(1, 1.2, 2),
      (workloads, seed, more) => {
        const packing = packingOf(workloadPods(workloads));
        const old = firstFitPack(packing.context, Infinity) ?? [];
        const budget = totalPrice(old) * more;
        const ids = { next: 100 };
        const bins = rebuilt(packing, { budget, old, seed, ids });
        expect(rebuilt(packing, { budget, old, seed })).toEqual(bins);
        if (bins === undefined) return;
        done += 1;
        expect(faultsOf(packing.context, bins)).toEqual([]);
        expect(totalPrice(bins)).toBeLessThanOrEqual(budget);
        expect(new Set(bins.map(({ id }) => id)).size).toBe(bins.length);
        expect(Math.min(...bins.map(({ id }) => id))).toBeGreaterThanOrEqual(100);
        expect(Math.max(...bins.map(({ id }) => id))).toBeLessThan(ids.next);
      },
    ),
    { seed: 1, numRuns: 80 },
  );
  expect(done).toBeGreaterThan(10);
});
