import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { podsOf } from '../testing/objects.js';
import { asking, packingOf, typesBy, workloadPods, workloadsOf } from '../testing/packing.js';
import { fullestLoads, type NodeLoad } from './loads.js';

const enough = () => ({ left: 100_000 });
const covers = (a: NodeLoad, b: NodeLoad): boolean =>
  a.counts.every((count, kind) => count >= (b.counts[kind] ?? 0));

describe('the fullest loads of nodes', () => {
  test('hold pods that no load as cheap holds too', () => {
    fc.assert(
      fc.property(workloadsOf('none', 'apart'), (workloads) => {
        const { context, kinds } = packingOf(workloadPods(workloads.slice(0, 4)), {
          types: typesBy([2, 4, 17], [2, 8, 19], [4, 16, 36]),
        });
        const loads = fullestLoads(context, kinds, enough()) ?? [];
        for (const load of loads)
          expect(loads.filter((other) => other.price <= load.price && covers(other, load))).toEqual(
            [load],
          );
      }),
      { numRuns: 60 },
    );
  });

  test('take each other kind beside the first, also of more than 32 kinds', () => {
    const pods = Array.from({ length: 34 }, (_, index) =>
      podsOf(`k${index}-`, 1, asking(0.9 + index / 1000, 1)),
    ).flat();
    const { context, kinds } = packingOf(pods, { types: typesBy([2, 64, 100]) });
    const loads = fullestLoads(context, kinds, enough()) ?? [];
    expect(loads.map(({ counts }) => counts.reduce((sum, count) => sum + count, 0))).toEqual(
      Array.from({ length: 33 }, () => 2),
    );
  });

  test('are not told if there are too many', () => {
    const { context, kinds } = packingOf(podsOf('p', 3, asking(1, 1)));
    expect(fullestLoads(context, kinds, { left: 1 })).toBeUndefined();
  });
});
