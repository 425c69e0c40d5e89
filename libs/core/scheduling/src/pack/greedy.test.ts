import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { podsOf } from '../testing/objects.js';
import {
  asking,
  binWith,
  faultsOf,
  packed,
  type Packing,
  packingOf,
  rules,
  typesBy,
  workloadPods,
  workloadsOf,
} from '../testing/packing.js';
import { copyOf, totalPrice } from './bins.js';
import { firstFitPack } from './first-fit.js';
import { comfortable, greedyPack } from './greedy.js';
import type { PackBin } from './packing.js';

const never = (): boolean => false;
const types = typesBy([2, 8, 10], [4, 16, 19], [8, 32, 38]);
const both = [
  ['the most valuable first', false],
  ['evenly', true],
] as const;

describe.each(both)('packed greedily, %s,', (_how, evenly) => {
  test.each<[string, Parameters<typeof podsOf>[2], number, number]>([
    ['one pod is on the cheapest node that holds it', asking(1, 1), 1, 10],
    ['pods that fill a node cost as much as the node', asking(1, 4), 8, 38],
    ['what is left over is on a node of its size', asking(1, 4), 10, 48],
    ['pods that keep apart have a node each', { ...asking(1, 4), ...rules.apart('a') }, 3, 30],
  ])('%s', (_sentence, pod, count, price) => {
    const { context } = packingOf(podsOf('one', count, pod), { types });
    const bins = greedyPack(context, evenly, never) ?? [];
    expect(faultsOf(context, bins)).toEqual([]);
    expect(totalPrice(bins)).toBe(price);
  });

  test('nothing is packed when it is stopped before the end', () => {
    const { context } = packingOf(podsOf('one', 3, asking(1, 4)), { types });
    expect(greedyPack(context, evenly, () => true)).toBeUndefined();
  });

  test('any pods are packed once each, by the rules, and for no less than the bound', () => {
    fc.assert(
      fc.property(workloadsOf('none', 'apart', 'spread', 'port', 'zone'), (workloads) => {
        const { context } = packingOf(workloadPods(workloads));
        const bins = greedyPack(context, evenly, never) ?? [];
        expect(faultsOf(context, bins)).toEqual([]);
        expect(bins.map(({ id }) => id)).toEqual(bins.map((_, index) => index));
        expect(totalPrice(bins)).toBeGreaterThanOrEqual(context.bound);
        expect(greedyPack(context, evenly, never)).toEqual(bins);
      }),
      { seed: 1, numRuns: 60 },
    );
  });
});

describe('a fleet', () => {
  const packing = packingOf(
    [
      ...podsOf('small', 12, asking(1, 4)),
      ...podsOf('apart', 3, { ...asking(1, 4), ...rules.apart('a') }),
    ],
    { types },
  );
  const { context, kinds, kind } = packing;
  const without = (bins: readonly PackBin[]): Int32Array =>
    Int32Array.from(kinds.map((one) => one.count - packed(bins, one)));

  test.each<[string, readonly Readonly<Record<string, number>>[], boolean, number | undefined]>([
    [
      'that is closed grows to hold the rest',
      [{ apart: 1, small: 1 }, { apart: 1 }, { apart: 1 }],
      true,
      3,
    ],
    ['that is closed fails when it is too small', [{ apart: 1, small: 7 }], true, undefined],
    [
      'that is closed fails when rules forbid a pod everywhere',
      [{ apart: 1 }, { apart: 1 }],
      true,
      undefined,
    ],
    ['that is open is added to', [{ apart: 1, small: 7 }], false, 3],
  ])('%s', (_sentence, contents, closed, nodes) => {
    const bins = contents.map((one, index) => binWith(packing, one, index));
    const grown = greedyPack(context, false, never, { bins, left: without(bins), closed });
    expect(grown?.length).toBe(nodes);
    if (grown !== undefined) expect(faultsOf(context, grown)).toEqual([]);
  });

  test('is not changed itself', () => {
    const bins = [{ apart: 1, small: 1 }, { apart: 1 }, { apart: 1 }].map((one, index) =>
      binWith(packing, one, index),
    );
    const [before, left] = [bins.map(copyOf), without(bins)];
    const leftBefore = left.slice();
    greedyPack(context, false, never, { bins, left, closed: true });
    expect(bins).toEqual(before);
    expect(left).toEqual(leftBefore);
  });

  test('keeps the pods that its nodes hold', () => {
    const bins = [{ apart: 1, small: 2 }, { apart: 1, small: 1 }, { apart: 1 }].map((one, index) =>
      binWith(packing, one, index),
    );
    const grown =
      greedyPack(context, true, never, { bins, left: without(bins), closed: true }) ?? [];
    expect(grown).toHaveLength(3);
    bins.forEach(({ contents }, index) => {
      const small = (of: ReadonlyMap<number, number>): number => of.get(kind('small').index) ?? 0;
      expect(small(grown[index]?.contents ?? new Map())).toBeGreaterThanOrEqual(small(contents));
    });
  });
});

test('a fleet that leaves no pods over stays as it is', () => {
  fc.assert(
    fc.property(workloadsOf('none', 'zone'), (workloads) => {
      const { context, kinds } = packingOf(workloadPods(workloads));
      const bins = firstFitPack(context, Infinity) ?? [];
      const left = new Int32Array(kinds.length);
      const grown = greedyPack(context, false, never, { bins, left, closed: true });
      expect(grown).toEqual(bins);
    }),
    { seed: 2, numRuns: 30 },
  );
});

describe('a comfortable node is worth as much as', () => {
  const worthOfType = ({ context, kind }: Packing, at: number): number =>
    kind('one').openings.flatMap((state) => [...context.roomWorths(state)])[at] as number;
  test.each<[string, ReturnType<typeof typesBy>, number]>([
    ['the smallest when all give the same for their price', typesBy([2, 8, 10], [4, 16, 20]), 0],
    ['the smallest that gives nearly the most', typesBy([2, 8, 10], [4, 16, 18], [8, 32, 35.5]), 1],
    ['the largest when it gives most by far', typesBy([2, 8, 10], [4, 16, 15]), 1],
  ])('%s', (_sentence, some, at) => {
    const packing = packingOf(podsOf('one', 64, asking(1, 4)), { types: some });
    const [state] = packing.kind('one').openings;
    if (state === undefined) throw new Error('no node can be opened');
    expect(comfortable(packing.context, state)).toBeCloseTo(worthOfType(packing, at), 6);
  });
});
