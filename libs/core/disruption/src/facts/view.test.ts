import { describe, expect, test } from 'vitest';

import { claim, node, nowMs, view } from '../testing/objects.js';
import { conditionTrueSinceMs, isEnding, isInitialized, type NodeView } from './view.js';

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
