import { type NodeClaim, renderPromise } from '@dovetail/core-api';
import type { Pod } from '@dovetail/core-kube-model';
import { describe, expect, test } from '@jest/globals';

import { replacementsOf, retirementStep } from './retirement.js';
import type { Retirement } from './retirement-record.js';
import { claim, daemon, node, nowMs, pod, view } from './testing/objects.js';

const disrupted = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' } as const;

describe('a retirement', () => {
  const limits = {
    expiryWaitMs: 900_000,
    interruptionWaitMs: 60_000,
    askAgainMs: 75_000,
    askAgainUrgentMs: 15_000,
  };
  const initialized = [
    { type: 'Initialized', status: 'True', reason: '', message: '', lastTransitionMs: nowMs },
  ] as const;
  const replacement = (name: string, more: Partial<NodeClaim> = {}): NodeClaim =>
    claim(name, {
      conditions: [],
      annotations: {
        'dovetail.sh/promise': renderPromise({
          podUids: [],
          admission: '1.1',
          replaces: { nodeName: 'n1', nodeUid: 'uid-n1' },
        }),
      },
      ...more,
    });
  const step = (
    retirement: Partial<Retirement>,
    more: { pods?: readonly Pod[]; replacements?: readonly NodeClaim[] } = {},
  ) =>
    retirementStep({
      retirement: { cause: 'expired', atMs: nowMs - 10_000, ...retirement },
      view: view({ pods: more.pods ?? [pod('a')], node: node('n1', { taints: [disrupted] }) }),
      replacements: more.replacements ?? [],
      limits,
      budgetsOf: () => [],
      podOf: () => undefined,
      nowMs,
      retiring: true,
    }).kind;
  const asked = { askedMs: nowMs - 5_000, answered: true };
  test.each([
    ['empty and still empty: ends', step({ cause: 'empty' }, { pods: [] }), 'end'],
    ['empty, but a pod came before the taint: is let go', step({ cause: 'empty' }), 'abandon'],
    ['expired without pods: ends', step({}, { pods: [daemon('d')] }), 'end'],
    ['expired with pods: asks', step({}), 'ask'],
    ['asked a moment ago: waits', step({ askedMs: nowMs - 5_000 }), 'wait'],
    ['asked long ago and nothing came: asks again', step({ askedMs: nowMs - 75_000 }), 'ask'],
    [
      'interrupted, asked a quarter of a minute ago and nothing came: asks again',
      step({ cause: 'interrupted', deadlineMs: nowMs + 60_000, askedMs: nowMs - 15_000 }),
      'ask',
    ],
    ['room on nodes that exist: ends', step({ ...asked, expects: 0 }), 'end'],
    [
      'replacement not initialised: waits',
      step({ ...asked, expects: 1 }, { replacements: [replacement('r')] }),
      'wait',
    ],
    [
      'one of two initialised: waits',
      step(
        { ...asked, expects: 2 },
        { replacements: [replacement('r', { conditions: initialized })] },
      ),
      'wait',
    ],
    [
      'all initialised: ends',
      step(
        { ...asked, expects: 1 },
        { replacements: [replacement('r', { conditions: initialized })] },
      ),
      'end',
    ],
    [
      'expired, solver answered, waited too long: ends',
      step({ ...asked, expects: 1, atMs: nowMs - 900_000 }),
      'end',
    ],
    ['expired, no solver ever answered: goes on asking', step({ atMs: nowMs - 9_000_000 }), 'ask'],
    [
      'interrupted, half the notice over: ends',
      step({ cause: 'interrupted', atMs: nowMs - 60_000, deadlineMs: nowMs + 50_000 }),
      'end',
    ],
    [
      'the instance is going already: ends at once',
      step({ cause: 'interrupted', atMs: nowMs, deadlineMs: nowMs }),
      'end',
    ],
    [
      'announced maintenance: waits for its replacement as expiry does',
      step({ ...asked, cause: 'interrupted', atMs: nowMs - 60_000, expects: 1 }),
      'wait',
    ],
  ])('%s', (_what, kind, expected) => expect(kind).toBe(expected));

  test('its replacements are the living claims that name the node', () => {
    const found = replacementsOf(
      [replacement('r'), replacement('gone', { deletionMs: nowMs }), claim('other')],
      'uid-n1',
    );
    expect(found.map(({ name }) => name)).toEqual(['r']);
  });
});
