import { at } from '@dovetail/core-invariant';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { podsOf } from '../testing/objects.js';
import {
  asking,
  faultsOf,
  packingOf,
  rules,
  typesBy,
  type Workload,
  workloadPods,
  workloadsOf,
} from '../testing/packing.js';
import { afterKind, copyOf, emptyBin, putKind, ruleRoom, settle, totalPrice } from './bins.js';
import { exhaustivePack } from './exhaustive.js';
import { greedyPack } from './greedy.js';
import type { Kind } from './kinds.js';
import type { PackBin, PackContext } from './packing.js';

const never = (): boolean => false;

/** The least price of all ways to divide the pods over nodes. */
function leastOf(context: PackContext, pods: readonly Kind[], bins: readonly PackBin[]): number {
  const [kind, ...rest] = pods;
  if (kind === undefined) {
    const settled = bins.map(copyOf);
    return settled.every(settle) ? totalPrice(settled) : Infinity;
  }
  const joined = bins.flatMap((bin, index) => {
    if (ruleRoom(context, bin, kind) <= 0 || !afterKind(context, bin.state, kind)) return [];
    const next = copyOf(bin);
    putKind(context, next, kind, 1);
    return [leastOf(context, rest, bins.with(index, next))];
  });
  const opened = emptyBin(context, bins.length, at(kind.openings, 0));
  putKind(context, opened, kind, 1);
  return Math.min(leastOf(context, rest, [...bins, opened]), ...joined);
}

const types = typesBy([1, 4, 10], [2, 4, 17], [2, 8, 19], [4, 16, 36]);

describe('going through all ways to pack few pods', () => {
  test.each<[string, readonly Workload[], number]>([
    [
      'fills one node where two would be dearer',
      [{ cores: 1, gib: 1, count: 4, rule: 'none' }],
      34,
    ],
    ['keeps pods apart on small nodes', [{ cores: 0.5, gib: 1, count: 3, rule: 'apart' }], 30],
    [
      'lets others join the nodes of pods that are kept apart',
      [
        { cores: 1, gib: 2, count: 2, rule: 'apart' },
        { cores: 1, gib: 2, count: 2, rule: 'none' },
      ],
      34,
    ],
  ])('%s', (_what, workloads, price) => {
    const { context } = packingOf(workloadPods(workloads), { types });
    const bins = exhaustivePack(context, { thorough: false, shouldStop: never });
    expect(faultsOf(context, bins ?? [])).toEqual([]);
    expect(totalPrice(bins ?? [])).toBe(price);
  });

  test('finds the least price of all divisions, and breaks no rule', () => {
    fc.assert(
      fc.property(workloadsOf('none', 'apart', 'zone', 'port'), (workloads) => {
        const few = workloads.map((one) => ({ ...one, count: Math.min(one.count, 2) })).slice(0, 3);
        const { context, kinds } = packingOf(workloadPods(few), { types });
        const bins = exhaustivePack(context, { thorough: false, shouldStop: never });
        if (bins === undefined) throw new Error('so few pods have few ways');
        expect(faultsOf(context, bins)).toEqual([]);
        const pods = kinds.flatMap((kind) => Array<Kind>(kind.count).fill(kind));
        expect(totalPrice(bins)).toBe(leastOf(context, pods, []));
      }),
      { numRuns: 60 },
    );
  });

  test('is never dearer than the greedy packing', () => {
    fc.assert(
      fc.property(workloadsOf('none', 'apart', 'spread', 'zone'), (workloads) => {
        const { context } = packingOf(workloadPods(workloads));
        const bins = exhaustivePack(context, { thorough: false, shouldStop: never });
        if (bins === undefined) return;
        expect(faultsOf(context, bins)).toEqual([]);
        expect(totalPrice(bins)).toBeLessThanOrEqual(
          totalPrice(greedyPack(context, true, never) ?? []),
        );
      }),
      { numRuns: 60 },
    );
  });

  test.each<[string, number, () => boolean]>([
    ['more than a hundred pods', 101, never],
    ['no time', 5, () => true],
  ])('gives up with %s', (_what, count, shouldStop) => {
    const { context } = packingOf(podsOf('p', count, { ...asking(1, 1), ...rules.none() }));
    expect(exhaustivePack(context, { thorough: false, shouldStop })).toBeUndefined();
  });
});
