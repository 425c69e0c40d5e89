import type { LabelSelector, Pod } from '@dovetail/core-kube-model';
import { selectorMatches } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { podOf, selecting } from '../testing/objects.js';
import { Census, push } from './census.js';
import { Blueprint, type Host } from './hosts.js';

const hostOf = (running: readonly Pod[], planned: readonly Pod[] = []): Host => ({
  name: 'n',
  taints: [],
  blueprint: new Blueprint([], undefined),
  running,
  planned,
});
const found = (
  host: Host,
  selector: LabelSelector | undefined,
  namespaces: readonly string[] = ['default'],
): readonly string[] =>
  new Census([host])
    .matching(selector, namespaces)
    .map(({ pod, planned }) => `${planned ? 'planned' : 'running'} ${pod.uid}`);

describe('the pods that a selector selects', () => {
  const web = podOf('web', { labels: { app: 'web', tier: 'front' } });
  const db = podOf('db', { labels: { app: 'db' } });
  const far = podOf('far', { labels: { app: 'web' }, namespace: 'other' });
  const going = podOf('going', { labels: { app: 'web' }, deletionMs: 1 });
  const host = hostOf([db, going], [web, far]);
  const one = (key: string, operator: 'In' | 'NotIn' | 'Exists', values: readonly string[]) => ({
    requirements: [{ key, operator, values }],
  });
  test.each<[string, LabelSelector | undefined, readonly string[], readonly string[]]>([
    ['by a label', selecting({ app: 'web' }), ['default'], ['planned web']],
    [
      'by one of two values, one of them twice',
      one('app', 'In', ['web', 'db', 'web']),
      ['default'],
      ['planned web', 'running db'],
    ],
    ['by two labels', selecting({ app: 'web', tier: 'back' }), ['default'], []],
    ['by a label that is not there', selecting({ zone: 'a' }), ['default'], []],
    ['by what they are not', one('app', 'NotIn', ['db']), ['default'], ['planned web']],
    ['by a key', one('tier', 'Exists', []), ['default'], ['planned web']],
    ['all of a namespace', { requirements: [] }, ['default'], ['running db', 'planned web']],
    ['none without a selector', undefined, ['default'], []],
    ['in another namespace', selecting({ app: 'web' }), ['other'], ['planned far']],
    ['in two', selecting({ app: 'web' }), ['default', 'other'], ['planned web', 'planned far']],
    ['in none', selecting({ app: 'web' }), [], []],
  ])('%s', (_, selector, namespaces, expected) => {
    expect(found(host, selector, namespaces)).toEqual(expected);
  });
});

test('the census finds exactly the pods that reading all of them finds', () => {
  const values = fc.constantFrom('x', 'y', 'z');
  const keys = fc.constantFrom('a', 'b');
  const pods = fc.array(
    fc.record({ labels: fc.dictionary(keys, values), namespace: fc.constantFrom('n', 'm') }),
    { maxLength: 12 },
  );
  const requirements = fc.array(
    fc.oneof(
      fc.record({
        key: keys,
        operator: fc.constantFrom('In' as const, 'NotIn' as const),
        values: fc.array(values, { minLength: 1 }),
      }),
      fc.record({
        key: keys,
        operator: fc.constantFrom('Exists' as const, 'DoesNotExist' as const),
        values: fc.constant([]),
      }),
    ),
    { maxLength: 3 },
  );
  fc.assert(
    fc.property(pods, requirements, (specs, wanted) => {
      const all = specs.map((spec, index) => podOf(`p${index}`, spec));
      const selector = { requirements: wanted };
      const expected = all
        .filter((pod) => pod.namespace === 'n' && selectorMatches(selector, pod.labels))
        .map((pod) => `running ${pod.uid}`);
      expect([...found(hostOf(all), selector, ['n'])].sort()).toEqual(expected.sort());
    }),
    { seed: 1 },
  );
});

test('a list under a key begins with the first that is added', () => {
  const lists = new Map<string, number[]>();
  push(lists, 'a', 1);
  push(lists, 'b', 2);
  push(lists, 'a', 3);
  expect([...lists]).toEqual([
    ['a', [1, 3]],
    ['b', [2]],
  ]);
});
