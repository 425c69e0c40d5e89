import { at } from '@dovetail/core-invariant';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { copyOf, emptyBin, totalPrice } from '../pack/bins.js';
import { firstFitPack } from '../pack/first-fit.js';
import type { Portion } from '../pack/kinds.js';
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
import { assemble, type Shell } from './assemble.js';
import { RandomNumbers } from './random-numbers.js';

/** All pods of a packing, most valuable first, as the assembly wants them. */
const portionsOf = ({ context, kinds }: Packing): readonly Portion[] =>
  [...kinds]
    .sort((a, b) => (context.worth[b.index] as number) - (context.worth[a.index] as number))
    .map((kind) => ({ kind, count: kind.count }));
const assembled = (
  packing: Packing,
  shells: readonly Shell[],
  portions = portionsOf(packing),
): readonly PackBin[] | undefined =>
  assemble(packing.context, shells, portions, new RandomNumbers(1));
/** Empty nodes that are meant to be of the types with these prices. */
const shellsOf = ({ context, kinds }: Packing, prices: readonly number[]): readonly Shell[] => {
  const state = at(at(kinds, 0).openings, 0);
  return prices.map((price, id) => {
    const target = context.targets(state).find((one) => one.price === price);
    if (target === undefined) throw new Error(`no type costs ${price}`);
    return { bin: emptyBin(context, id, state), target };
  });
};
const types = typesBy([4, 16, 20], [8, 32, 38]);
type Pods = readonly (readonly [cores: number, gib: number, count: number])[];
const packingBy = (pods: Pods, rule = {}): Packing =>
  packingOf(
    pods.flatMap(([cores, gib, count], index) =>
      podsOf(`w${index}-`, count, { ...asking(cores, gib), ...rule }),
    ),
    { types },
  );

describe('pods are divided over nodes', () => {
  test.each<[string, Pods, readonly number[], object, readonly number[] | undefined]>([
    ['when they fill them exactly', [[1, 4, 8]], [20, 20], {}, [4, 4]],
    [
      'when one must move aside for another',
      [
        [3, 1, 2],
        [2, 2, 2],
        [1, 1, 2],
      ],
      [20, 38],
      {},
      [2, 4],
    ],
    [
      'over nodes of several types',
      [
        [3, 12, 2],
        [1, 4, 6],
      ],
      [20, 38],
      {},
      [2, 6],
    ],
    ['so that nodes which are not needed are left out', [[1, 4, 2]], [20, 20], {}, [1, 1]],
    ['and nowhere when they ask for more than there is', [[1, 4, 9]], [20, 20], {}, undefined],
    ['and nowhere when one fits no node, though all would', [[3, 1, 3]], [20, 20], {}, undefined],
    ['one to a node when they keep apart', [[1, 4, 2]], [20, 20], rules.apart('a'), [1, 1]],
    [
      'and nowhere when they keep apart and nodes are too few',
      [[1, 4, 3]],
      [20, 38],
      rules.apart('a'),
      undefined,
    ],
    ['and nowhere when there is no node', [[1, 4, 1]], [], {}, undefined],
  ])('%s', (_sentence, pods, prices, rule, expected) => {
    const packing = packingBy(pods, rule);
    const bins = assembled(packing, shellsOf(packing, prices));
    expect(bins?.map((bin) => bin.pods).sort((a, b) => a - b)).toEqual(expected);
    if (bins !== undefined) expect(faultsOf(packing.context, bins)).toEqual([]);
  });

  test('which keep what they hold, and are not changed themselves', () => {
    const packing = packingBy([[1, 4, 6]]);
    const bin = binWith(packing, { w0: 2 });
    const before = copyOf(bin);
    const { target } = at(shellsOf(packing, [38]), 0);
    const bins = assembled(packing, [{ bin, target }], [{ kind: packing.kind('w0'), count: 4 }]);
    expect(bins?.map(({ pods, price }) => [pods, price])).toEqual([[6, 38]]);
    expect(bin).toEqual(before);
  });

  test('which stay when they hold something, though no pod joins them', () => {
    const packing = packingBy([[1, 4, 2]]);
    const shell = {
      bin: binWith(packing, { w0: 2 }),
      target: at(shellsOf(packing, [20]), 0).target,
    };
    expect(assembled(packing, [shell], [])).toHaveLength(1);
  });
});

test('where any pods are divided, each is on one node, by the rules, for no more than the targets', () => {
  let divided = 0;
  fc.assert(
    fc.property(workloadsOf('none', 'apart', 'spread', 'port'), (workloads) => {
      const packing = packingOf(workloadPods(workloads));
      const { context } = packing;
      const model = firstFitPack(context, Infinity) ?? [];
      const shells = model.map(({ id, state, room, price }): Shell => ({
        bin: emptyBin(context, id, state),
        target: { room, price },
      }));
      const bins = assembled(packing, shells);
      expect(assembled(packing, shells)).toEqual(bins);
      if (bins === undefined) return;
      divided += 1;
      expect(faultsOf(context, bins)).toEqual([]);
      expect(totalPrice(bins)).toBeLessThanOrEqual(totalPrice(model));
    }),
    { seed: 1, numRuns: 100 },
  );
  expect(divided).toBeGreaterThan(50);
});
