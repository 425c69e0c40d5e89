import { describe, expect, test } from '@jest/globals';

import { claim, node, nowMs, view } from './testing/objects.js';
import {
  conditionTrueSinceMs,
  instanceIdOf,
  instanceIdOfProvider,
  isEnding,
  isInitialized,
  isTaintedDisrupted,
  type NodeView,
} from './view.js';

const disrupted = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' } as const;

describe('a node is ending', () => {
  test.each<[string, Partial<NodeView>, boolean, boolean]>([
    ['not while nothing ends it', {}, false, false],
    ['when its claim is being deleted', { claim: claim('c', { deletionMs: 1 }) }, true, true],
    ['when the node is being deleted', { node: node('n', { deletionMs: 1 }) }, true, true],
    ['when it is tainted', { node: node('n', { taints: [disrupted] }) }, true, false],
    [
      'when it is being retired',
      { node: node('n', { annotations: { 'dovetail.sh/retirement': '{}' } }) },
      true,
      false,
    ],
  ])('%s: %s, and by others than us: %s', (_name, more, ending, byOthers) => {
    expect(isEnding(view(more))).toBe(ending);
    expect(isEnding(view(more), { retiring: true })).toBe(byOthers);
  });
});

test.each([
  ['another effect', { ...disrupted, effect: 'NoExecute' as const }, false],
  ['another key', { ...disrupted, key: 'karpenter.sh/other' }, false],
  ['the taint itself, with any value', { ...disrupted, value: 'x' }, true],
])('a node with %s is tainted for retirement: %s', (_name, taint, is) =>
  expect(isTaintedDisrupted(node('n', { taints: [taint] }))).toBe(is),
);

describe('a node has taken part in the cluster', () => {
  const bare = claim('c', { conditions: [] });
  test.each<[string, Partial<NodeView>, boolean]>([
    ['not without condition and label', { claim: bare }, false],
    ['by its condition', {}, true],
    [
      'by its label',
      { claim: bare, node: node('n', { labels: { 'karpenter.sh/initialized': 'true' } }) },
      true,
    ],
  ])('%s', (_name, more, is) => expect(isInitialized(view(more))).toBe(is));
});

test('a condition counts only while it is True', () => {
  const condition = { type: 'Launched', reason: '', message: '', lastTransitionMs: nowMs };
  const since = (status: 'True' | 'False' | 'Unknown'): number | undefined =>
    conditionTrueSinceMs(claim('c', { conditions: [{ ...condition, status }] }), 'Launched');
  expect([since('True'), since('False'), since('Unknown')]).toEqual([nowMs, undefined, undefined]);
});

test.each([
  [undefined, undefined],
  ['', undefined],
  ['i-0abc', undefined],
  ['gce:///zone/i-0abc', undefined],
  ['aws:///us-west-2a/', undefined],
  ['aws:///us-west-2a/i-0123456789abcdef0', 'i-0123456789abcdef0'],
])('the provider ID %p names the instance %p', (providerId, id) =>
  expect(instanceIdOfProvider(providerId)).toBe(id),
);

test("the launcher's pairing counts before the provider ID, which comes later", () => {
  const providerId = 'aws:///a/i-0aaa';
  expect(instanceIdOf(claim('c', { providerId }))).toBe('i-0aaa');
  expect(
    instanceIdOf(claim('c', { providerId, annotations: { 'dovetail.sh/instance-id': 'i-0bbb' } })),
  ).toBe('i-0bbb');
  expect(
    instanceIdOf(claim('c', { providerId, annotations: { 'dovetail.sh/instance-id': '' } })),
  ).toBeUndefined();
});
