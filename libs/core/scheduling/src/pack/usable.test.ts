import { describe, expect, test } from 'vitest';

import { gibibytes, mebibytes, offeringOf, podsOf, poolOf, typeOf } from '../testing/objects.js';
import { planScenario } from '../testing/scenario.js';
import type { Kind } from './kinds.js';
import { UsableRooms } from './usable.js';

const kindOf = (index: number, cpu: number, memory: number, count: number): Kind =>
  ({ index, requests: Float64Array.of(cpu, memory, 1), count }) as unknown as Kind;
const usableOf = (kinds: readonly Kind[], room: readonly number[]) => {
  const demand = kinds.reduce(
    (sum, { requests, count }) => sum.map((amount, r) => amount + (requests[r] as number) * count),
    new Float64Array(3),
  );
  return new UsableRooms(kinds, demand).of(Float64Array.from(room));
};

describe('what a node can be filled with', () => {
  test.each<[string, readonly Kind[], readonly number[], readonly number[], boolean]>([
    [
      "pods in the node's own proportion use all of it",
      [kindOf(0, 1, 2, 100)],
      [10, 20, 110],
      [10, 20],
      false,
    ],
    [
      'cores beyond what pods could use beside its memory are not there',
      [kindOf(0, 1, 2, 100)],
      [10, 10, 110],
      [5, 10],
      false,
    ],
    [
      'memory beyond what pods could use beside its cores is not there',
      [kindOf(0, 1, 2, 100)],
      [5, 20, 110],
      [5, 10],
      false,
    ],
    ['the number of pods limits both', [kindOf(0, 1, 2, 100)], [10, 20, 4], [4, 8], false],
    [
      'pods that suit a node best decide, if there are enough of them',
      [kindOf(0, 1, 2, 80), kindOf(1, 2, 1, 20)],
      [10, 5, 110],
      [10, 5],
      false,
    ],
    [
      'a node that hardly any pod fits is niche',
      [kindOf(0, 8, 16, 100), kindOf(1, 1, 2, 10)],
      [4, 4, 110],
      [2, 4],
      true,
    ],
    ['a node that no pod fits is of no use', [kindOf(0, 8, 16, 100)], [4, 4, 110], [0, 0], true],
  ])('%s', (_, kinds, room, usable, niche) => {
    const found = usableOf(kinds, room);
    expect({ usable: [...found.room].slice(0, 2), niche: found.niche }).toEqual({ usable, niche });
  });

  test('tiny nodes with many idle cores do not make cores look free', () => {
    const offerings = (price: number) => [offeringOf('zone-a', 'on-demand', price)];
    const nano = typeOf({
      name: 'nano',
      cpuMillis: 2000,
      memoryBytes: gibibytes(0.5),
      offerings: offerings(5_200),
    });
    const compute = typeOf({
      name: 'compute',
      cpuMillis: 16_000,
      memoryBytes: gibibytes(32),
      offerings: offerings(600_000),
    });
    const general = typeOf({
      name: 'general',
      cpuMillis: 16_000,
      memoryBytes: gibibytes(64),
      offerings: offerings(700_000),
    });
    const pods = podsOf('w', 64, { requests: { cpu: 1000, memory: mebibytes(1900), pods: 1 } });
    const made = planScenario({
      pods,
      snapshot: { pools: [{ pool: poolOf('default'), instanceTypes: [nano, compute, general] }] },
    });
    expect(made.newNodes.map(({ options }) => options[0]?.instanceType)).toEqual([
      'compute',
      'compute',
      'compute',
      'compute',
    ]);
  });
});
