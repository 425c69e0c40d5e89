import type { Pod } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import { nodeOf, podOf, selecting, snapshotOf } from '../testing/objects.js';
import { selectionText, selectorKeysOf } from './selection.js';

const term = (label: string) => ({
  topologyKey: 'zone',
  selector: selecting({ [label]: 'x' }),
  namespaces: [],
});
const spread = (label?: string): Pod['topologySpread'][number] => ({
  maxSkew: 1,
  topologyKey: 'zone',
  whenUnsatisfiable: 'ScheduleAnyway',
  nodeAffinityPolicy: 'Honor',
  nodeTaintsPolicy: 'Ignore',
  ...(label === undefined ? {} : { selector: selecting({ [label]: 'x' }) }),
});
const weighted = (label: string) => ({ weight: 1, term: term(label) });

describe('labels that selectors ask about', () => {
  test.each<[string, Partial<Pod>, readonly string[]]>([
    ['spread, also when it only prefers', { topologySpread: [spread('a')] }, ['a']],
    ['required affinity', { requiredPodAffinity: [term('a')] }, ['a']],
    ['preferred affinity', { preferredPodAffinity: [weighted('a')] }, ['a']],
    ['required anti-affinity', { requiredPodAntiAffinity: [term('a')] }, ['a']],
    ['preferred anti-affinity', { preferredPodAntiAffinity: [weighted('a')] }, ['a']],
    [
      'several, each once and by name',
      { topologySpread: [spread('b')], requiredPodAffinity: [term('a'), term('b')] },
      ['a', 'b'],
    ],
    ['a selector that is absent: no label, but namespaces', { topologySpread: [spread()] }, []],
  ])('by a pod to place, in %s', (_what, over, keys) => {
    expect(selectorKeysOf([podOf('p', over)], snapshotOf())).toEqual({
      any: true,
      keys: new Set(keys),
    });
  });

  test.each<[string, Partial<Pod>]>([
    ['spread', { topologySpread: [spread('a')] }],
    ['affinity', { requiredPodAffinity: [term('a')] }],
    ['preferred anti-affinity', { preferredPodAntiAffinity: [weighted('a')] }],
    ['no rule', {}],
  ])('by a pod that runs with %s are none: nothing keeps to it any more', (_what, over) => {
    const snapshot = snapshotOf({ nodes: [nodeOf('n', { pods: [podOf('run', over)] })] });
    expect(selectorKeysOf([podOf('p')], snapshot)).toEqual({ any: false, keys: new Set() });
  });

  test.each(['pods', 'promisedPods'] as const)(
    'by required anti-affinity of a node’s %s count',
    (list) => {
      const running = podOf('run', { requiredPodAntiAffinity: [term('a')] });
      const snapshot = snapshotOf({ nodes: [nodeOf('n', { [list]: [running] })] });
      expect(selectorKeysOf([], snapshot)).toEqual({ any: true, keys: new Set(['a']) });
    },
  );
});

describe('the text that selectors see of a pod', () => {
  const textOf = (over: Partial<Pod>, keys: readonly string[] = ['app', 'tier']): string =>
    selectionText(podOf('p', over), { any: true, keys: new Set(keys) });

  test('is the same without any selector, whatever the pod', () => {
    const none = { any: false, keys: new Set<string>() };
    expect(selectionText(podOf('a', { namespace: 'x', labels: { app: 'a' } }), none)).toBe(
      selectionText(podOf('b'), none),
    );
  });

  test('does not show labels that no selector asks about', () => {
    expect(textOf({ labels: { app: 'a', other: '1' } })).toBe(textOf({ labels: { app: 'a' } }));
  });

  test.each<[string, Partial<Pod>, Partial<Pod>]>([
    ['namespaces', { namespace: 'x' }, { namespace: 'y' }],
    ['values', { labels: { app: 'a' } }, { labels: { app: 'b' } }],
    [
      'two labels in one order, and one of both',
      { labels: { tier: 'a', app: 'b' } },
      { labels: { app: 'b' } },
    ],
    ['an empty value and none', { labels: { app: '' } }, {}],
    ['the same value of two labels', { labels: { app: 'a' } }, { labels: { tier: 'a' } }],
  ])('tells %s apart', (_what, a, b) => {
    expect(textOf(a)).not.toBe(textOf(b));
  });
});
