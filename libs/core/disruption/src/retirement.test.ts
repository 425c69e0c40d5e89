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
    unansweredWaitMs: 30_000,
    unansweredExpiryMs: 300_000,
    drainReserveMs: 10_000,
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
  const asked = { askedMs: nowMs - 5_000, answeredMs: nowMs - 5_000 };
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
      step({ ...asked, expects: 1, atMs: nowMs - 2_000_000, answeredMs: nowMs - 900_000 }),
      'end',
    ],
    [
      'expired, a solver answered only after a long outage: waits for the replacement',
      step({ ...asked, expects: 1, atMs: nowMs - 2_000_000 }, { replacements: [replacement('r')] }),
      'wait',
    ],
    ['expired, no solver has answered yet: goes on asking', step({ atMs: nowMs - 299_000 }), 'ask'],
    [
      'expired, no solver answered for minutes: lets others have their turn',
      step({ atMs: nowMs - 300_000, askedMs: nowMs - 1_000 }),
      'abandon',
    ],
    [
      'expired, no answer was noted, but its replacement is on the way: waits',
      step({ atMs: nowMs - 300_000 }, { replacements: [replacement('r')] }),
      'wait',
    ],
    [
      'interrupted, half the notice over: ends',
      step({ cause: 'interrupted', atMs: nowMs - 60_000, deadlineMs: nowMs + 50_000 }),
      'end',
    ],
    [
      'interrupted, a solver answered, time is left: waits',
      step({ cause: 'interrupted', ...asked, expects: 1, deadlineMs: nowMs + 100_000 }),
      'wait',
    ],
    [
      'interrupted, a solver found no place: ends at once',
      step({ cause: 'interrupted', ...asked, deadlineMs: nowMs + 100_000 }),
      'end',
    ],
    [
      'interrupted, no solver answered for half a minute: ends',
      step({ cause: 'interrupted', atMs: nowMs - 30_000, deadlineMs: nowMs + 80_000 }),
      'end',
    ],
    [
      'interrupted, a pod needs all that is left to end: ends at once',
      step(
        { cause: 'interrupted', ...asked, expects: 1, deadlineMs: nowMs + 110_000 },
        { pods: [pod('a'), pod('slow', { terminationGracePeriodSeconds: 100 })] },
      ),
      'end',
    ],
    [
      'interrupted, its pods end within the time left: waits',
      step(
        { cause: 'interrupted', ...asked, expects: 1, deadlineMs: nowMs + 111_000 },
        { pods: [pod('a'), pod('slow', { terminationGracePeriodSeconds: 100 })] },
      ),
      'wait',
    ],
    [
      'announced maintenance, no solver ever answered, waited too long: ends',
      step({ cause: 'interrupted', atMs: nowMs - 900_000 }),
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

  test.each<[string, Retirement['cause'], boolean, string]>([
    ['expired and still open: is tainted first', 'expired', false, 'taint'],
    ['expired and tainted: ends', 'expired', true, 'end'],
    ['interrupted and tainted: ends', 'interrupted', true, 'end'],
  ])('room elsewhere, %s', (_what, cause, tainted, kind) => {
    const taints = tainted ? [disrupted] : [];
    const given = retirementStep({
      retirement: { cause, atMs: nowMs - 10_000, ...asked, expects: 0 },
      view: view({ pods: [pod('a')], node: node('n1', { taints }) }),
      replacements: [],
      limits,
      budgetsOf: () => [],
      podOf: () => undefined,
      nowMs,
    });
    expect(given.kind).toBe(kind);
  });

  test('its replacements are the living claims that name the node', () => {
    const found = replacementsOf(
      [replacement('r'), replacement('gone', { deletionMs: nowMs }), claim('other')],
      'uid-n1',
    );
    expect(found.map(({ name }) => name)).toEqual(['r']);
  });
});
