import { at } from '@dovetail/core-invariant';
import type { Pod } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { defaultPlanOptions } from '../options.js';
import type { PlanOptions } from '../snapshot.js';
import { podsOf, poolOf, selecting, snapshotOf } from '../testing/objects.js';
import { rules } from '../testing/packing.js';
import { familyTypes } from '../testing/worlds.js';
import { worldOf } from '../world/world.js';
import { type MayShare, sharingOf } from './sharing.js';

/** Whether pods may share a node. The workloads are named by their prefixes. */
function sharing(
  workloads: Readonly<Record<string, Partial<Pod>>>,
  options: Partial<PlanOptions> = {},
): { readonly mayShare: MayShare; readonly names: readonly string[] } {
  const pods = Object.entries(workloads).flatMap(([name, over], index) =>
    podsOf(name, 4, { requests: { cpu: 100 * (index + 1) }, ...over }),
  );
  const world = worldOf(
    snapshotOf({ pools: [{ pool: poolOf('default'), instanceTypes: familyTypes() }] }),
    pods,
    { ...defaultPlanOptions, ...options },
  );
  const names = world.classes.map((cls) => at(at(cls.uids, 0).split('-'), 0));
  return { mayShare: sharingOf(world, world.classes), names };
}
const joins = (
  { mayShare, names }: ReturnType<typeof sharing>,
  counts: Readonly<Record<string, number>>,
  name: string,
): boolean =>
  mayShare(
    names.map((one) => counts[one] ?? 0),
    names.indexOf(name),
  );

const web = { labels: { app: 'web' } };
const strict: Partial<PlanOptions> = { hostnameSpread: 'strict' };
const fromWeb: Partial<Pod> = {
  requiredPodAntiAffinity: [
    { topologyKey: 'kubernetes.io/hostname', selector: selecting({ app: 'web' }), namespaces: [] },
  ],
};

describe('one more pod', () => {
  type Row = [
    what: string,
    sharing: ReturnType<typeof sharing>,
    counts: Readonly<Record<string, number>>,
    name: string,
    joins: boolean,
  ];
  const plain = sharing({ a: {}, b: {} });
  const ports = sharing({ a: rules.port(), b: rules.port(), c: {} });
  const apart = sharing({ a: rules.apart('a'), b: {} });
  const guarded = sharing({ guard: fromWeb, web });
  const even = sharing({ a: rules.spread('a'), b: {} }, strict);
  test.each<Row>([
    ['joins any pods without rules', plain, { a: 9, b: 9 }, 'a', true],
    ['does not join one of its own host port', ports, { a: 1 }, 'a', false],
    ['does not join another of its host port', ports, { b: 1 }, 'a', false],
    ['joins one without host ports', ports, { c: 5 }, 'a', true],
    ['is the first of its anti-affinity', apart, {}, 'a', true],
    ['is not the second of its anti-affinity', apart, { a: 1 }, 'a', false],
    ['joins others than its anti-affinity selects', apart, { b: 7 }, 'a', true],
    ['does not join one that it shuns', guarded, { web: 1 }, 'guard', false],
    ['does not join one that shuns it', guarded, { guard: 1 }, 'web', false],
    ['joins its like if it shuns only others', guarded, { guard: 3 }, 'guard', true],
    ['joins its like if only others shun it', guarded, { web: 3 }, 'web', true],
    ['is within the skew of a strict spread', even, {}, 'a', true],
    ['is beyond the skew of a strict spread', even, { a: 1 }, 'a', false],
    ['does not count to a spread that others carry', even, { a: 1, b: 5 }, 'b', true],
    [
      'is not held back by a balanced spread',
      sharing({ a: rules.spread('a') }, { hostnameSpread: 'balanced' }),
      { a: 3 },
      'a',
      true,
    ],
  ])('%s', (_what, some, counts, name, expected) =>
    expect(joins(some, counts, name)).toBe(expected),
  );
});

test('pods that may share a node with many may share it with a part of them', () => {
  const some = sharing(
    {
      guard: fromWeb,
      web,
      port: rules.port(),
      even: rules.spread('even'),
      alone: rules.apart('x'),
    },
    strict,
  );
  const { mayShare, names } = some;
  const amounts = fc.array(fc.nat({ max: 2 }), {
    minLength: names.length,
    maxLength: names.length,
  });
  fc.assert(
    fc.property(amounts, amounts, fc.nat({ max: names.length - 1 }), (counts, less, index) => {
      const part = counts.map((count, other) => Math.max(0, count - at(less, other)));
      if (mayShare(counts, index)) expect(mayShare(part, index)).toBe(true);
    }),
    { seed: 1 },
  );
});
