import type { Pod } from '@dovetail/core-kube-model';
import { podValue } from '@dovetail/core-kube-model/testing';
import { describe, expect, test } from 'vitest';

import { Waiting } from './waiting.js';

const seen = (uid: string, change: Partial<Pod> = {}): Pod =>
  podValue(uid, { createdMs: 1_000, ...change });
const unseen = (uid: string, change: Partial<Pod> = {}): Pod =>
  seen(uid, { unschedulable: false, ...change });
const inNeed = (pods: readonly Pod[]): readonly string[] => {
  const waiting = new Waiting();
  for (const pod of pods) waiting.set(pod);
  return waiting.inNeed().map((pod) => pod.uid);
};

describe('who needs a node', () => {
  test.each<[string, readonly Pod[], readonly string[]]>([
    ['a pod that the scheduler found no place for', [seen('a')], ['a']],
    ['nobody before the scheduler has said anything', [unseen('a'), unseen('b')], []],
    ['an equal pod that came later', [seen('a'), unseen('b')], ['a', 'b']],
    [
      'not an equal pod that came earlier: its answer is on its way',
      [unseen('a'), seen('b')],
      ['b'],
    ],
    [
      'creation counts before the order of arrival',
      [seen('a', { createdMs: 2_000 }), unseen('b')],
      ['a'],
    ],
    ['not one with other labels', [seen('a'), unseen('b', { labels: { app: 'x' } })], ['a']],
    [
      'not one that asks for another amount',
      [seen('a'), unseen('b', { requests: { cpu: 1 } })],
      ['a'],
    ],
    ['not one of another priority', [seen('a'), unseen('b', { priority: 1 })], ['a']],
    [
      'not one with a volume of its own',
      [seen('a'), unseen('b', { volumes: [{ claimName: 'b' }] })],
      ['a'],
    ],
    [
      'nobody after one that preempts: they may, too',
      [seen('a', { nominatedNodeName: 'n' }), unseen('b')],
      [],
    ],
    ['nobody that is bound', [seen('a'), unseen('b', { nodeName: 'n' })], ['a']],
  ])('%s', (_sentence, pods, expected) => expect(inNeed(pods)).toEqual(expected));

  test('a pod keeps its turn when it changes, and what was found for one that left says nothing any more', () => {
    const waiting = new Waiting();
    for (const pod of [unseen('a'), unseen('b'), seen('a')]) waiting.set(pod);
    expect(waiting.inNeed().map((pod) => pod.uid)).toEqual(['a', 'b']);
    waiting.delete('a');
    expect(waiting.inNeed()).toEqual([]);
  });

  test('a pod that changes counts among those that it is equal to now', () => {
    const waiting = new Waiting();
    const after = (...pods: readonly Pod[]): readonly string[] => {
      for (const pod of pods) waiting.set(pod);
      return waiting.inNeed().map((pod) => pod.uid);
    };
    const labels = { app: 'x' };
    expect(after(seen('a'), unseen('b'))).toEqual(['a', 'b']);
    expect(after(unseen('b', { labels }))).toEqual(['a']);
    expect(after(seen('a', { labels }))).toEqual(['a', 'b']);
    expect(after(seen('a', { nodeName: 'n' }))).toEqual([]);
    expect(after(seen('c', { labels }))).toEqual(['c']);
  });
});
