import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { LabelSelector } from '../pod.js';
import { readAffinities, readTopologySpread } from './placement.js';
import { Malformed } from './raw.js';
import { podWith } from './testing/objects.js';

const spread = (more: object): object => ({
  maxSkew: 1,
  topologyKey: 'zone',
  whenUnsatisfiable: 'DoNotSchedule',
  ...more,
});

describe('a spread constraint', () => {
  test.each<[string, object, string]>([
    ['without a skew', { maxSkew: undefined }, 'spread[0].maxSkew'],
    ['with a skew of zero', { maxSkew: 0 }, 'spread[0].maxSkew'],
    ['without a topology key', { topologyKey: '' }, 'spread[0].topologyKey'],
    ['with an unknown action', { whenUnsatisfiable: 'Never' }, 'spread[0].whenUnsatisfiable'],
    ['without an action', { whenUnsatisfiable: undefined }, 'spread[0].whenUnsatisfiable'],
    ['with no domain', { minDomains: 0 }, 'spread[0].minDomains'],
    ['with an unknown policy', { nodeTaintsPolicy: 'Some' }, 'spread[0].nodeTaintsPolicy'],
  ])('%s is refused by field', (_name, more, field) => {
    const read = (): unknown => readTopologySpread([spread(more)], 'spread', {});
    expect(read).toThrow(Malformed);
    expect(read).toThrow(new RegExp(`^${field.replaceAll(/[[\]]/g, String.raw`\$&`)}: `));
  });

  test('honours affinity and ignores taints unless it says otherwise, as Kubernetes defaults them', () =>
    expect(readTopologySpread([spread({})], 'spread', {})).toEqual([
      {
        maxSkew: 1,
        topologyKey: 'zone',
        whenUnsatisfiable: 'DoNotSchedule',
        nodeAffinityPolicy: 'Honor',
        nodeTaintsPolicy: 'Ignore',
      },
    ]));

  test('without a selector selects nothing, whatever its label keys say', () =>
    expect(
      readTopologySpread([spread({ matchLabelKeys: ['app'] })], 'spread', { app: 'web' })[0]
        ?.selector,
    ).toBeUndefined());

  test('merges its label keys the same way however often the API server has merged them', () => {
    const keys = fc.uniqueArray(fc.constantFrom('app', 'tier', 'hash'));
    fc.assert(
      fc.property(keys, keys, (match, merged) => {
        const labels = { app: 'a', tier: 't' };
        const mergedLabels = merged.flatMap((key) =>
          match.includes(key) && Object.hasOwn(labels, key)
            ? [{ key, operator: 'In', values: [labels[key as 'app' | 'tier']] }]
            : [],
        );
        const read = (expressions: object[]): LabelSelector | undefined =>
          readTopologySpread(
            [spread({ labelSelector: { matchExpressions: expressions }, matchLabelKeys: match })],
            'spread',
            labels,
          )[0]?.selector;
        const sorted = (selector: LabelSelector | undefined): readonly string[] =>
          (selector?.requirements ?? []).map(({ key }) => key).sort();
        expect(sorted(read(mergedLabels))).toEqual(sorted(read([])));
      }),
    );
  });
});

describe('affinities', () => {
  test('that are absent ask for nothing', () =>
    expect(readAffinities(undefined, 'affinity', {})).toEqual({
      preferredNodeAffinity: [],
      requiredPodAffinity: [],
      preferredPodAffinity: [],
      requiredPodAntiAffinity: [],
      preferredPodAntiAffinity: [],
    }));

  test.each([0, 101, 1.5, '1', undefined])('with a weight of %j are refused', (weight) =>
    expect(() =>
      readAffinities(
        {
          podAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              { weight, podAffinityTerm: { topologyKey: 'zone' } },
            ],
          },
        },
        'affinity',
        {},
      ),
    ).toThrow(Malformed),
  );

  test('affinity terms that say nothing are left out: none left matches no node', () =>
    expect(
      podWith({
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{}] },
            preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: {} }],
          },
        },
      }),
    ).toMatchObject({ requiredNodeAffinity: [], preferredNodeAffinity: [] }));
  test('matchLabelKeys become requirements with its own values, once, and unknown keys are ignored', () => {
    const spread = (labelSelector: object): object => ({
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'zone',
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector,
          matchLabelKeys: ['app', 'missing'],
        },
      ],
    });
    const wanted = [{ requirements: [{ key: 'app', operator: 'In', values: ['web'] }] }];
    expect(podWith(spread({})).topologySpread.map((one) => one.selector)).toEqual(wanted);
    expect(
      podWith(spread({ matchLabels: { app: 'web' } })).topologySpread.map((one) => one.selector),
    ).toEqual(wanted);
  });
  test('mismatchLabelKeys exclude its own values', () =>
    expect(
      podWith({
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              {
                topologyKey: 'zone',
                labelSelector: { matchLabels: { x: 'y' } },
                mismatchLabelKeys: ['app'],
              },
            ],
          },
        },
      }).requiredPodAntiAffinity,
    ).toEqual([
      {
        topologyKey: 'zone',
        namespaces: [],
        selector: {
          requirements: [
            { key: 'x', operator: 'In', values: ['y'] },
            { key: 'app', operator: 'NotIn', values: ['web'] },
          ],
        },
      },
    ]));
  test('an empty namespace selector stays: it means every namespace', () =>
    expect(
      podWith({
        affinity: {
          podAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              { weight: 3, podAffinityTerm: { topologyKey: 'zone', namespaceSelector: {} } },
            ],
          },
        },
      }).preferredPodAffinity,
    ).toEqual([
      {
        weight: 3,
        term: { topologyKey: 'zone', namespaces: [], namespaceSelector: { requirements: [] } },
      },
    ]));
});
