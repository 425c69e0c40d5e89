import { at } from '@dovetail/core-invariant';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { Bin } from '../rooms/bin.js';
import { EmptiestFirst } from './emptiest-first.js';

/** A node of this number with so many pods. */
const binOf = (index: number, pods: number): Bin => ({
  index,
  used: new Float64Array(),
  contents: new Map(),
  pods,
  ports: [],
  minValuesRelaxed: false,
});
const binsOf = (...pods: readonly number[]): Bin[] =>
  pods.map((count, index) => binOf(index, count));
/** The numbers of all nodes in the order in which they come up. */
function drained(heap: EmptiestFirst): readonly number[] {
  const order: number[] = [];
  heap.first((bin) => {
    order.push(bin.index);
    return false;
  });
  return order;
}

describe('nodes come up', () => {
  test.each<[string, readonly number[], readonly number[]]>([
    ['not at all if there are none', [], []],
    ['with the fewest pods first', [3, 1, 2], [1, 2, 0]],
    ['in the order of their numbers among equals', [2, 1, 1, 2], [1, 2, 0, 3]],
  ])('%s', (_what, pods, order) =>
    expect(drained(new EmptiestFirst(binsOf(...pods)))).toEqual(order),
  );

  test('again until they are refused, and never after that', () => {
    const heap = new EmptiestFirst(binsOf(1, 2, 3));
    const second = (bin: Bin): boolean => bin.index === 1;
    expect(heap.first(second)?.index).toBe(1);
    expect(heap.first(second)?.index).toBe(1);
    expect(heap.first(() => true)?.index).toBe(1);
    expect(drained(heap)).toEqual([1, 2]);
    expect(heap.first(() => true)).toBeUndefined();
  });

  test('later once they have gained pods', () => {
    const bins = binsOf(1, 2, 3);
    const heap = new EmptiestFirst(bins);
    at(bins, 0).pods = 5;
    at(bins, 1).pods = 3;
    expect(drained(heap)).toEqual([1, 2, 0]);
  });

  test('in their place if they are added later', () => {
    const heap = new EmptiestFirst(binsOf(1, 3));
    heap.push(binOf(2, 2));
    heap.push(binOf(3, 0));
    expect(drained(heap)).toEqual([3, 0, 2, 1]);
  });
});

test('a heap finds what looking at every node finds, whatever is added, gained and refused', () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant('push' as const), pods: fc.nat({ max: 4 }) }),
      fc.record({
        kind: fc.constant('gain' as const),
        which: fc.nat({ max: 9 }),
        pods: fc.nat({ max: 3 }),
      }),
      fc.record({ kind: fc.constant('first' as const), takes: fc.nat({ max: 5 }) }),
    ),
    { maxLength: 30 },
  );
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 4 }), { maxLength: 6 }), steps, (pods, some) => {
      const bins = binsOf(...pods);
      const heap = new EmptiestFirst(bins);
      let known = [...bins];
      for (const step of some) {
        if (step.kind === 'push') {
          const bin = binOf(bins.length, step.pods);
          bins.push(bin);
          known.push(bin);
          heap.push(bin);
        } else if (step.kind === 'gain') {
          const bin = bins[step.which];
          if (bin !== undefined) bin.pods += step.pods;
        } else {
          const takes = (bin: Bin): boolean => bin.index % 5 >= step.takes;
          known.sort((a, b) => a.pods - b.pods || a.index - b.index);
          const found = known.findIndex(takes);
          known = found < 0 ? [] : known.slice(found);
          expect(heap.first(takes)).toBe(known[0]);
        }
      }
    }),
    { seed: 1 },
  );
});
