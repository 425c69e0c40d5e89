import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { daemonSetOf, podOf } from '../testing/objects.js';
import { addTo, dimensionsOf, resourcesOf, vectorOf } from './dimensions.js';

fc.configureGlobal({ seed: 1 });

const gpu = 'nvidia.com/gpu';

describe('the dimensions of a plan', () => {
  test.each<[string, ReturnType<typeof dimensionsOf>, readonly string[]]>([
    ['cpu, memory and pods, even if nobody asks', dimensionsOf([], []), []],
    ['not what no pod asks for', dimensionsOf([podOf('a', { requests: { [gpu]: 0 } })], []), []],
    [
      'what one pod asks for',
      dimensionsOf([podOf('a'), podOf('b', { requests: { [gpu]: 1 } })], []),
      [gpu],
    ],
    [
      'what a daemonset asks for',
      dimensionsOf([podOf('a')], [daemonSetOf('d', { requests: { [gpu]: 1 } })]),
      [gpu],
    ],
    [
      'the others by name',
      dimensionsOf([podOf('a', { requests: { [gpu]: 1, 'a/z': 1, 'ephemeral-storage': 1 } })], []),
      ['a/z', 'ephemeral-storage', gpu],
    ],
  ])('are %s', (_what, { names }, others) => {
    expect(names).toEqual(['cpu', 'memory', 'pods', ...others]);
  });
});

const dimensions = { names: ['cpu', 'memory', 'pods', gpu] };

describe('amounts as vectors', () => {
  test('hold zero for an absent name, and nothing of a name that is no dimension', () => {
    expect([...vectorOf(dimensions, { memory: 7, 'example.com/x': 9 })]).toEqual([0, 7, 0, 0]);
  });

  const anyAmounts = fc.dictionary(
    fc.constantFrom(...dimensions.names),
    fc.integer({ min: -1000, max: 1000 }),
  );
  test('read back as the same amounts without the zeros', () =>
    fc.assert(
      fc.property(anyAmounts, (amounts) => {
        expect(resourcesOf(dimensions, vectorOf(dimensions, amounts))).toEqual(
          Object.fromEntries(Object.entries(amounts).filter(([, amount]) => amount !== 0)),
        );
      }),
    ));

  test('that are added some times and taken off as often leave what was there', () =>
    fc.assert(
      fc.property(anyAmounts, anyAmounts, fc.integer({ min: 0, max: 50 }), (a, b, times) => {
        const total = vectorOf(dimensions, a);
        addTo(total, vectorOf(dimensions, b), times);
        expect([...total]).toEqual(
          dimensions.names.map((name) => (a[name] ?? 0) + (b[name] ?? 0) * times),
        );
        addTo(total, vectorOf(dimensions, b), -times);
        expect([...total]).toEqual([...vectorOf(dimensions, a)]);
      }),
    ));
});
