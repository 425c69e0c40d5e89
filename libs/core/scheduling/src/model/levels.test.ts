import type { NodeSelectorTerm, Pod, TopologySpreadConstraint } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { podOf } from '../testing/objects.js';
import { type Demands, levelsOf, usableTerms } from './levels.js';

fc.configureGlobal({ seed: 1 });

const termOf = (key: string): NodeSelectorTerm => ({
  matchExpressions: [{ key, operator: 'Exists', values: [] }],
  matchFields: [],
});
const mates = (topologyKey: string) => ({ topologyKey, namespaces: [] });
const spreadOf = (
  topologyKey: string,
  whenUnsatisfiable: TopologySpreadConstraint['whenUnsatisfiable'],
): TopologySpreadConstraint => ({
  maxSkew: 1,
  topologyKey,
  whenUnsatisfiable,
  nodeAffinityPolicy: 'Honor',
  nodeTaintsPolicy: 'Ignore',
});
const preferring = { preferences: 'Respect', taintPreferences: false } as const;

/** Describes the demands of a level in short. */
const short = (demands: Demands): string =>
  [
    `term:${demands.term?.matchExpressions[0]?.key ?? ''}`,
    `preferred:${demands.preferredTerm?.matchExpressions[0]?.key ?? ''}`,
    `spread:${demands.spread.map((one) => one.topologyKey).join('+')}`,
    `affinity:${demands.affinity.map((one) => one.topologyKey).join('+')}`,
    `anti:${demands.antiAffinity.map((one) => one.topologyKey).join('+')}`,
    demands.toleratesPreferred ? 'tolerates' : 'avoids',
  ]
    .filter((part) => !part.endsWith(':'))
    .join(' ');
const levelsIn = (pod: Pod, over: Partial<Parameters<typeof levelsOf>[1]> = {}) =>
  levelsOf(pod, { ...preferring, ...over }).map(short);

/** A pod with something to give up of every kind. */
const wishful = podOf('a', {
  requiredNodeAffinity: [termOf('one'), termOf('two')],
  requiredPodAffinity: [mates('must')],
  preferredPodAffinity: [
    { weight: 1, term: mates('light') },
    { weight: 9, term: mates('heavy') },
  ],
  requiredPodAntiAffinity: [mates('never')],
  preferredPodAntiAffinity: [{ weight: 1, term: mates('rather-not') }],
  preferredNodeAffinity: [
    { weight: 5, term: termOf('nice') },
    { weight: 50, term: termOf('nicer') },
  ],
  topologySpread: [spreadOf('hard', 'DoNotSchedule'), spreadOf('soft', 'ScheduleAnyway')],
});

describe('the levels of a pod', () => {
  test('are one, if it has nothing to give up', () => {
    expect(levelsIn(podOf('a'))).toEqual(['tolerates']);
  });

  test('give one thing up at a time, in the order of Karpenter', () => {
    const must = 'spread:hard affinity:must anti:never tolerates';
    expect(levelsIn(wishful)).toEqual([
      'term:one preferred:nicer spread:hard+soft affinity:must+heavy+light anti:never+rather-not tolerates',
      'term:two preferred:nicer spread:hard+soft affinity:must+heavy+light anti:never+rather-not tolerates',
      'term:two preferred:nicer spread:hard+soft affinity:must+light anti:never+rather-not tolerates',
      'term:two preferred:nicer spread:hard+soft affinity:must anti:never+rather-not tolerates',
      'term:two preferred:nicer spread:hard+soft affinity:must anti:never tolerates',
      'term:two preferred:nice spread:hard+soft affinity:must anti:never tolerates',
      'term:two spread:hard+soft affinity:must anti:never tolerates',
      `term:two ${must}`,
    ]);
  });

  test('leave preferences out altogether where the policy ignores them, but not alternatives', () => {
    expect(levelsIn(wishful, { preferences: 'Ignore' })).toEqual([
      'term:one spread:hard affinity:must anti:never tolerates',
      'term:two spread:hard affinity:must anti:never tolerates',
    ]);
  });

  test.each(['Respect', 'Ignore'] as const)(
    'end with taints of PreferNoSchedule where a pool has one (%s)',
    (preferences) => {
      expect(levelsIn(podOf('a'), { preferences, taintPreferences: true })).toEqual([
        'avoids',
        'tolerates',
      ]);
    },
  );

  test('keep the order of the manifest among equal weights', () => {
    const pod = podOf('a', {
      preferredNodeAffinity: ['z', 'a', 'm'].map((key) => ({ weight: 1, term: termOf(key) })),
    });
    expect(levelsIn(pod)).toEqual([
      'preferred:z tolerates',
      'preferred:a tolerates',
      'preferred:m tolerates',
      'tolerates',
    ]);
  });

  test('say how many terms are required; those come first', () => {
    for (const { required } of levelsOf(wishful, preferring))
      expect(required).toEqual({ affinity: 1, antiAffinity: 1 });
  });

  test('are one more than there are things to give up, if these are few', () =>
    fc.assert(
      fc.property(
        fc.array(fc.nat(3), { minLength: 5, maxLength: 5 }),
        fc.boolean(),
        ([terms = 0, affinity = 0, anti = 0, preferred = 0, soft = 0], taintPreferences) => {
          const many = <T>(count: number, make: (name: string) => T): readonly T[] =>
            Array.from({ length: count }, (_, index) => make(`k${index}`));
          const pod = podOf('a', {
            requiredNodeAffinity: many(terms, termOf),
            preferredPodAffinity: many(affinity, (key) => ({ weight: 1, term: mates(key) })),
            preferredPodAntiAffinity: many(anti, (key) => ({ weight: 1, term: mates(key) })),
            preferredNodeAffinity: many(preferred, (key) => ({ weight: 1, term: termOf(key) })),
            topologySpread: many(soft, (key) => spreadOf(key, 'ScheduleAnyway')),
          });
          const levels = levelsIn(pod, { taintPreferences });
          const toGiveUp =
            Math.max(0, terms - 1) + affinity + anti + preferred + soft + Number(taintPreferences);
          expect(levels).toHaveLength(1 + toGiveUp);
          expect(new Set(levels).size).toBe(levels.length);
        },
      ),
    ));
});

describe('usable alternatives of required node affinity', () => {
  const byName = {
    matchExpressions: [],
    matchFields: [{ key: 'metadata.name', operator: 'In' as const, values: ['n'] }],
  };
  const empty = { matchExpressions: [], matchFields: [] };
  test.each<[string, Pod['requiredNodeAffinity'], readonly NodeSelectorTerm[]]>([
    ['none where the pod has no affinity', undefined, []],
    ['none where it has no term', [], []],
    ['not a term without expressions', [empty, termOf('a')], [termOf('a')]],
    ['a term with fields only', [byName], [byName]],
  ])('are %s', (_what, requiredNodeAffinity, usable) => {
    const pod = podOf('a', requiredNodeAffinity === undefined ? {} : { requiredNodeAffinity });
    expect(usableTerms(pod)).toEqual(usable);
  });
});
