import { taints } from '@dovetail/core-api';
import { claimValue } from '@dovetail/core-api/testing';
import type { Taint } from '@dovetail/core-kube-model';
import { nodeValue } from '@dovetail/core-kube-model/testing';
import { describe, expect, test } from 'vitest';

import { isBeingDeleted, isDisruptedTaint, isMarkedForRetirement, isRetiring } from './retiring.js';

const retirement = { 'dovetail.sh/retirement': '{}' };
const disrupted: Taint = { ...taints.disrupted };

describe('the taint of retirement', () => {
  test.each<[string, Taint, boolean]>([
    ['is known by key and effect', disrupted, true],
    ['may have any value', { ...disrupted, value: 'disrupting' }, true],
    ['has the effect NoSchedule only', { ...disrupted, effect: 'NoExecute' }, false],
    ['has one key', { key: 'karpenter.sh/disruption', effect: 'NoSchedule' }, false],
  ])('%s', (_what, taint, expected) => expect(isDisruptedTaint(taint)).toBe(expected));
});

describe('a node is leaving', () => {
  test.each<[string, boolean]>([
    ['when it is being deleted', isRetiring(nodeValue('n', { deletionMs: 1 }))],
    [
      'when its claim is being deleted',
      isRetiring(nodeValue('n'), claimValue('c', { deletionMs: 1 })),
    ],
    [
      'when its claim goes before it joined',
      isRetiring(undefined, claimValue('c', { deletionMs: 1 })),
    ],
    ['when the reaper has marked it', isRetiring(nodeValue('n', { annotations: retirement }))],
    ['when it carries the taint', isRetiring(nodeValue('n', { taints: [disrupted] }))],
  ])('%s', (_when, leaving) => expect(leaving).toBe(true));

  test.each<[string, boolean]>([
    ['when nothing says so', isRetiring(nodeValue('n'), claimValue('c'))],
    ['because it is cordoned', isRetiring(nodeValue('n', { cordoned: true }))],
    [
      "because of the taint's key with another effect",
      isRetiring(nodeValue('n', { taints: [{ ...disrupted, effect: 'PreferNoSchedule' }] })),
    ],
    ['when there is neither node nor claim', isRetiring(undefined, undefined)],
  ])('not %s', (_when, leaving) => expect(leaving).toBe(false));

  test('deletion and retirement are told apart', () => {
    const marked = nodeValue('n', { annotations: retirement });
    expect([isMarkedForRetirement(marked), isBeingDeleted(marked, undefined)]).toEqual([
      true,
      false,
    ]);
  });
});
