import type { NodeClaim } from '@dovetail/core-api';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { terminationDeadlineMs } from '../facts/view.js';
import { claim, node, nowMs, pod } from '../testing/objects.js';
import { deadlineToWrite, type TerminationFacts, terminationStep } from './termination.js';

fc.configureGlobal({ seed: 1 });

const disrupted = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' } as const;

describe('ending a node', () => {
  const ending = claim('c1', { deletionMs: nowMs - 10_000 });
  const facts = (more: Partial<TerminationFacts>): TerminationFacts => ({
    claim: ending,
    node: node('n1', { taints: [disrupted] }),
    pods: [],
    attachments: [],
    instance: 'live',
    nowMs,
    endingSinceMs: nowMs - 5_000,
    drainMinMs: 5_000,
    hiddenMsMax: 60_000,
    ...more,
  });
  const told: NodeClaim = {
    ...ending,
    conditions: [
      {
        type: 'InstanceTerminating',
        status: 'True',
        reason: 'InstanceTerminating',
        message: '',
        lastTransitionMs: nowMs,
      },
    ],
  };
  const launched = (of: NodeClaim, lastTransitionMs: number): NodeClaim => ({
    ...of,
    conditions: [
      ...of.conditions.filter(({ type }) => type !== 'Launched'),
      { type: 'Launched', status: 'True', reason: 'Launched', message: '', lastTransitionMs },
    ],
  });
  const attachment = { uid: 'a', name: 'a', resourceVersion: '1', nodeName: 'n1' };
  test.each<[string, Partial<TerminationFacts>, string]>([
    ['taints first', { node: node('n1'), pods: [pod('a')] }, 'taint'],
    ['drains', { pods: [pod('a')] }, 'drain'],
    ['drains for at least the minimum', { endingSinceMs: nowMs - 4_999 }, 'drain'],
    ['waits for volumes', { attachments: [attachment] }, 'wait-volumes'],
    [
      'but not past the deadline',
      {
        attachments: [attachment],
        claim: {
          ...ending,
          annotations: {
            'karpenter.sh/nodeclaim-termination-timestamp': new Date(nowMs).toISOString(),
          },
        },
      },
      'terminate',
    ],
    ['terminates', {}, 'terminate'],
    ['terminates an instance that never became a node', { node: undefined as never }, 'terminate'],
    ['waits until it is gone', { instance: 'ending', pods: [pod('a')] }, 'await-gone'],
    ['lets go when EC2 says terminated', { instance: 'terminated', pods: [pod('a')] }, 'release'],
    [
      'ends an instance that EC2 does not show while the node is silent',
      { instance: 'missing', node: node('n1', { ready: false }), pods: [pod('a')] },
      'terminate',
    ],
    [
      'lets go of it once EC2 was told to end it',
      { instance: 'missing', node: node('n1', { ready: false }), claim: told },
      'release',
    ],
    [
      'ends it again while EC2 may hide it for being new',
      { instance: 'missing', node: undefined as never, claim: launched(told, nowMs - 59_999) },
      'terminate',
    ],
    [
      'and lets go of it a minute after the launch',
      { instance: 'missing', node: undefined as never, claim: launched(told, nowMs - 60_000) },
      'release',
    ],
    [
      'does not believe EC2 while the node is Ready',
      { instance: 'missing', pods: [pod('a')] },
      'drain',
    ],
  ])('%s', (_what, more, kind) => {
    const all = facts(more);
    const { node: _none, ...without } = all;
    expect(terminationStep('node' in more && more.node === undefined ? without : all).kind).toBe(
      kind,
    );
  });

  test.each([
    [
      'its grace period after deletion',
      { terminationGracePeriodMs: 60_000 },
      undefined,
      nowMs + 50_000,
    ],
    [
      'the earlier of that and what is asked for',
      { terminationGracePeriodMs: 60_000 },
      nowMs + 20_000,
      nowMs + 20_000,
    ],
    [
      'nothing when an earlier one stands',
      {
        terminationGracePeriodMs: 60_000,
        annotations: {
          'karpenter.sh/nodeclaim-termination-timestamp': new Date(nowMs).toISOString(),
        },
      },
      nowMs + 20_000,
      undefined,
    ],
    ['nothing without either', {}, undefined, undefined],
  ] as const)('the deadline to write: %s', (_what, more, askedMs, deadlineMs) =>
    expect(deadlineToWrite({ ...ending, ...more }, { askedMs, seenMs: nowMs - 10_000 })).toBe(
      deadlineMs,
    ),
  );
});

test.each([
  ['is ahead of the API server’s', 90_000, nowMs + 60_000],
  ['is behind it', -90_000, nowMs + 90_000 + 60_000],
])('a claim keeps its whole grace period where our clock %s', (_what, aheadMs, deadlineMs) => {
  const one = claim('c1', { deletionMs: nowMs - aheadMs, terminationGracePeriodMs: 60_000 });
  expect(deadlineToWrite(one, { seenMs: nowMs })).toBe(deadlineMs);
});

describe('the deadline of a claim', () => {
  const at = (text: string): NodeClaim =>
    claim('c1', { annotations: { 'karpenter.sh/nodeclaim-termination-timestamp': text } });

  test.each([
    ['', undefined],
    ['soon', undefined],
    ['2026-11-21T12:00:00Z', nowMs],
  ])('%j is %p', (text, deadlineMs) => expect(terminationDeadlineMs(at(text))).toBe(deadlineMs));

  test('only ever moves earlier', () =>
    fc.assert(
      fc.property(fc.nat({ max: 100_000 }), fc.nat({ max: 100_000 }), (carried, asked) => {
        const one = at(new Date(nowMs + carried).toISOString());
        expect(deadlineToWrite(one, { askedMs: nowMs + asked, seenMs: nowMs })).toBe(
          asked < carried ? nowMs + asked : undefined,
        );
      }),
    ));
});
