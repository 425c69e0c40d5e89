import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { totalPrice } from '../pack/bins.js';
import { firstFitPack } from '../pack/first-fit.js';
import type { PackBin } from '../pack/packing.js';
import { podsOf } from '../testing/objects.js';
import {
  asking,
  faultsOf,
  type Packing,
  packingOf,
  rules,
  typesBy,
  workloadPods,
  workloadsOf,
} from '../testing/packing.js';
import { packBlocks } from './blocks.js';
import { RandomNumbers } from './random-numbers.js';

const blocks = ({ context }: Packing, stopAfter = Infinity): readonly PackBin[] | undefined => {
  let asked = 0;
  return packBlocks(context, {
    random: new RandomNumbers(1),
    shouldStop: () => {
      asked += 1;
      return asked > stopAfter;
    },
  });
};
const types = typesBy([2, 8, 10], [4, 16, 19], [8, 32, 38]);

describe('packing block by block', () => {
  test.each<[string, object, boolean]>([
    ['is for pods without rules', {}, true],
    ['is for pods of one zone', rules.zone(), true],
    ['is not for pods that keep apart', rules.apart('a'), false],
    ['is not for pods that are spread over hosts', rules.spread('a'), false],
    ['is not for pods with host ports', rules.port(), false],
  ])('%s', (_sentence, rule, done) => {
    const pods = [
      ...podsOf('free', 3, asking(2, 2)),
      ...podsOf('one', 3, { ...asking(1, 1), ...rule }),
    ];
    expect(blocks(packingOf(pods, { types })) !== undefined).toBe(done);
  });

  test('costs little more than the bound where pods add up to whole nodes', () => {
    const packing = packingOf(podsOf('one', 400, asking(1, 4)), { types });
    const bins = blocks(packing) ?? [];
    expect(faultsOf(packing.context, bins)).toEqual([]);
    expect(packing.context.bound).toBeGreaterThanOrEqual(1_899);
    expect(totalPrice(bins)).toBeLessThanOrEqual(1.03 * 1_900);
  });

  test('of no pods makes no nodes', () => {
    expect(blocks(packingOf([], { types }))).toEqual([]);
  });

  test('that is stopped at once puts pods where they fit first', () => {
    const packing = packingOf(podsOf('one', 30, asking(1, 4)), { types });
    expect(blocks(packing, 0)).toEqual(firstFitPack(packing.context, Infinity));
  });

  test.each([0, 1, 3])('that is stopped after %i blocks still packs every pod', (after) => {
    const packing = packingOf(
      [...podsOf('one', 150, asking(1, 4)), ...podsOf('two', 90, asking(2, 3))],
      { types },
    );
    expect(faultsOf(packing.context, blocks(packing, after) ?? [])).toEqual([]);
  });
});

test('any pods without hostname rules are packed once each, on nodes with numbers of their own', () => {
  const many = workloadsOf('none', 'zone').map((all) =>
    all.map((one) => ({ ...one, count: one.count * 20 })),
  );
  fc.assert(
    fc.property(many, (workloads) => {
      const packing = packingOf(workloadPods(workloads));
      const bins = blocks(packing) ?? [];
      expect(faultsOf(packing.context, bins)).toEqual([]);
      expect(bins.map(({ id }) => id)).toEqual(bins.map((_, index) => index));
      expect(totalPrice(bins)).toBeGreaterThanOrEqual(packing.context.bound);
      expect(blocks(packing)).toEqual(bins);
    }),
    { seed: 1, numRuns: 15 },
  );
});
