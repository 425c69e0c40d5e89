import type { Pod } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { podsOf, poolOf, selecting } from '../testing/objects.js';
import {
  asking,
  packingOf,
  rules,
  typesBy,
  workloadPods,
  workloadsOf,
} from '../testing/packing.js';

const types = typesBy([4, 16, 20], [16, 64, 80]);
const two = (first: Partial<Pod>, second: Partial<Pod>): readonly Pod[] => [
  ...podsOf('one-', 3, first),
  ...podsOf('two-', 2, second),
];
const near = {
  topologyKey: 'kubernetes.io/hostname',
  selector: selecting({ app: 'a' }),
  namespaces: [],
};

describe('pods are of one kind', () => {
  test.each<[string, Partial<Pod>, Partial<Pod>, readonly number[]]>([
    ['when they are equal', {}, {}, [5]],
    [
      'when labels that no rule looks at differ',
      { labels: { a: '1' } },
      { labels: { a: '2' } },
      [5],
    ],
    ['when they ask for the same host port', rules.port(), rules.port(), [5]],
    ['when they keep apart from each other', rules.apart('a'), rules.apart('a'), [5]],
    ['but not when they ask for more', {}, asking(2, 1), [2, 3]],
    ['but not when one asks for a zone', {}, rules.zone(), [3, 2]],
    ['but not when one asks for a host port', {}, rules.port(), [3, 2]],
    ['but not when they keep apart in two groups', rules.apart('a'), rules.apart('b'), [3, 2]],
    [
      'but not when one only is counted by a rule',
      rules.apart('a'),
      { labels: { app: 'a' } },
      [3, 2],
    ],
  ])('%s', (_sentence, first, second, counts) => {
    expect(
      packingOf(two(first, second), { types })
        .kinds.map(({ count }) => count)
        .sort(),
    ).toEqual([...counts].sort());
  });
});

describe('a kind', () => {
  test.each<[string, Partial<Pod>, { readonly perHost: number; readonly plain: boolean }]>([
    ['without rules is plain', {}, { perHost: Infinity, plain: true }],
    ['of a zone is plain: the zone is settled', rules.zone(), { perHost: Infinity, plain: true }],
    ['that keeps apart is one per node', rules.apart('a'), { perHost: 1, plain: false }],
    ['with a host port is one per node', rules.port(), { perHost: 1, plain: false }],
    ['that is spread is maxSkew per node', rules.spread('a'), { perHost: 1, plain: false }],
    [
      'that is spread more loosely is more per node',
      {
        ...rules.spread('a'),
        topologySpread: rules.spread('a').topologySpread.map((one) => ({ ...one, maxSkew: 3 })),
      },
      { perHost: 3, plain: false },
    ],
    [
      'that keeps away from others only is any number per node',
      { requiredPodAntiAffinity: [near] },
      { perHost: Infinity, plain: false },
    ],
  ])('%s', (_sentence, over, expected) => {
    const [kind] = packingOf(podsOf('one', 3, over), { types }).kinds;
    expect(kind).toMatchObject(expected);
  });

  test('that others want to share a node with is plain: being wanted refuses nothing', () => {
    const { kinds } = packingOf(
      two({ labels: { app: 'a' } }, { ...asking(1, 1), requiredPodAffinity: [near] }),
      { types },
    );
    expect(kinds.map(({ plain, count }) => ({ plain, count }))).toEqual([
      { plain: true, count: 3 },
    ]);
  });

  test('shares the number of its rule with kinds under the same rule, whatever they ask for', () => {
    const { kind } = packingOf(
      [...two(rules.apart('a'), { ...rules.apart('a'), ...asking(2, 2) }), ...podsOf('free', 1)],
      { types },
    );
    expect(kind('one').rule).toBe(kind('two').rule);
    expect(kind('one').rule).not.toBe(kind('free').rule);
  });
});

describe('a node is opened', () => {
  const taints = [{ key: 'only', value: '', effect: 'NoSchedule' as const }];
  test.each<[string, Parameters<typeof poolOf>[1], Partial<Pod>, readonly string[]]>([
    ['in the heavier pool', { weight: 5 }, {}, ['extra']],
    ['in either of two pools of equal weight', {}, {}, ['default', 'extra']],
    ['in the lighter pool when the heavier has a taint', { weight: 5, taints }, {}, ['default']],
    [
      'in the tainted pool for a pod that tolerates it',
      { weight: 5, taints },
      { tolerations: [{ operator: 'Exists' }] },
      ['extra'],
    ],
    [
      'in the lighter pool when nothing in the heavier is large enough',
      { weight: 5 },
      asking(8, 8),
      ['default'],
    ],
  ])('%s', (_sentence, over, pod, pools) => {
    const { kinds } = packingOf(podsOf('one', 1, pod), {
      snapshot: {
        pools: [
          { pool: poolOf('default'), instanceTypes: types },
          { pool: poolOf('extra', over), instanceTypes: types.slice(0, 1) },
        ],
      },
    });
    const opened = kinds[0]?.openings.map(({ template }) => template.pool.identity.name);
    expect([...(opened ?? [])].sort()).toEqual(pools);
  });
});

const workloads = workloadsOf('none', 'apart', 'spread', 'port', 'zone');

test('kinds of any pods hold each pod once, by their place, each on an offer with room for it', () => {
  fc.assert(
    fc.property(workloads, (given) => {
      const { kinds } = packingOf(workloadPods(given), { types });
      expect(kinds.map(({ index }) => index)).toEqual(kinds.map((_, place) => place));
      expect(kinds.reduce((sum, { count }) => sum + count, 0)).toBe(
        given.reduce((sum, { count }) => sum + count, 0),
      );
      for (const { items, count, openings, requests } of kinds) {
        expect(items.reduce((sum, item) => sum + item.count, 0)).toBe(count);
        expect(openings.length).toBeGreaterThan(0);
        for (const { offers } of openings)
          expect(
            offers.some(({ type }) =>
              requests.every((wanted, r) => wanted <= (type.room[r] as number)),
            ),
          ).toBe(true);
      }
    }),
    { seed: 1, numRuns: 60 },
  );
});
