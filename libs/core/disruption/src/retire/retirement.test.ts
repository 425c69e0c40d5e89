import type { NodeClaim } from '@dovetail/core-api';
import type { Pod } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import type { Retirement } from '../facts/retirement-record.js';
import { claim, daemon, node, nowMs, pod, view } from '../testing/objects.js';
import { type PodRoom, podsWithoutRoom, retirementStep } from './retirement.js';

const disrupted = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' } as const;

describe('a retirement', () => {
  const limits = {
    expiryWaitMs: 900_000,
    interruptionWaitMs: 60_000,
    unansweredWaitMs: 30_000,
    unansweredExpiryMs: 300_000,
    consolidationWaitMs: 600_000,
    drainReserveMs: 10_000,
    askAgainMs: 75_000,
    askAgainUrgentMs: 15_000,
  };
  const coming = { a: 'coming' } as const;
  const ready = { a: 'ready' } as const;
  const stepOf = (
    retirement: Partial<Retirement>,
    more: {
      pods?: readonly Pod[];
      rooms?: Readonly<Record<string, PodRoom>>;
      claim?: Partial<NodeClaim>;
    } = {},
  ) =>
    retirementStep({
      retirement: { cause: 'expired', atMs: nowMs - 10_000, ...retirement },
      view: view({
        claim: claim('c1', more.claim),
        pods: more.pods ?? [pod('a')],
        node: node('n1', { taints: [disrupted] }),
      }),
      rooms: new Map(Object.entries(more.rooms ?? {}).map(([name, room]) => [`uid-${name}`, room])),
      limits,
      budgetsOf: () => [],
      podOf: () => undefined,
      nowMs,
      retiring: true,
    });
  const step = (...given: Parameters<typeof stepOf>) => stepOf(...given).kind;
  const conditions = ['Initialized', 'Drifted'].map((type) => ({
    type,
    status: 'True' as const,
    reason: 'AMIDrift',
    message: '',
    lastTransitionMs: nowMs - 60_000,
  }));
  const driftStep = (...[retirement, more]: Parameters<typeof stepOf>) =>
    step({ cause: 'drifted', ...retirement }, { ...more, claim: { conditions, ...more?.claim } });
  const doNotDisrupt = pod('a', { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } });
  const asked = { askedMs: nowMs - 5_000, answeredMs: nowMs - 5_000 };
  const replaced = { cause: 'underutilized', planId: 'p' } as const;
  test.each([
    ['empty and still empty: ends', step({ cause: 'empty' }, { pods: [] }), 'end'],
    ['empty, but a pod came before the taint: is let go', step({ cause: 'empty' }), 'abandon'],
    ['under-used: asks', step({ cause: 'underutilized' }), 'ask'],
    [
      'under-used, promised ready room: ends',
      step({ cause: 'underutilized', ...asked }, { rooms: ready }),
      'end',
    ],
    [
      'under-used, promised on a node that is coming: waits',
      step({ cause: 'underutilized', ...asked }, { rooms: coming }),
      'wait',
    ],
    [
      'under-used, and a solver has no place for a pod: is let go',
      step({ cause: 'underutilized', ...asked, unplaced: 1 }),
      'abandon',
    ],
    [
      'under-used, and without room for too long: is let go',
      step({ cause: 'underutilized', atMs: nowMs - 600_000 }),
      'abandon',
    ],
    [
      'under-used, and a pod says do-not-disrupt by now: is let go',
      step(
        { cause: 'underutilized', ...asked },
        {
          rooms: ready,
          pods: [pod('a', { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } })],
        },
      ),
      'abandon',
    ],
    ['drifted: asks', driftStep({}), 'ask'],
    ['drifted, promised ready room: ends', driftStep(asked, { rooms: ready }), 'end'],
    [
      'drifted, promised on a node that is coming: waits',
      driftStep(asked, { rooms: coming }),
      'wait',
    ],
    [
      'drifted, and a solver has no place for a pod: is let go',
      driftStep({ ...asked, unplaced: 1 }),
      'abandon',
    ],
    [
      'drifted, no solver answered for minutes: is let go',
      driftStep({ atMs: nowMs - 300_000, askedMs: nowMs - 1_000 }),
      'abandon',
    ],
    [
      'drifted, solver answered, waited too long: is let go',
      driftStep(
        { ...asked, atMs: nowMs - 2_000_000, answeredMs: nowMs - 900_000 },
        { rooms: coming },
      ),
      'abandon',
    ],
    [
      'drifted, a solver answered only after a long outage: waits for the replacement',
      driftStep({ ...asked, atMs: nowMs - 2_000_000 }, { rooms: coming }),
      'wait',
    ],
    [
      'drifted, and a pod says do-not-disrupt by now: is let go',
      driftStep(asked, { rooms: ready, pods: [doNotDisrupt] }),
      'abandon',
    ],
    [
      'drifted, a grace period, and only such a pod: ends without a place for it',
      driftStep({}, { pods: [doNotDisrupt], claim: { terminationGracePeriodMs: 60_000 } }),
      'end',
    ],
    [
      'drifted, a grace period, and another pod beside it: asks',
      driftStep(
        {},
        { pods: [doNotDisrupt, pod('b')], claim: { terminationGracePeriodMs: 60_000 } },
      ),
      'ask',
    ],
    [
      'drifted, such a pod, and a grace period: ends',
      driftStep(asked, {
        rooms: ready,
        pods: [doNotDisrupt],
        claim: { terminationGracePeriodMs: 60_000 },
      }),
      'end',
    ],
    [
      'drifted, and its pool asks for it again: is let go',
      step({ cause: 'drifted', ...asked }, { rooms: ready }),
      'abandon',
    ],
    ['replaced by a command: asks for nothing else, and waits', step(replaced), 'wait'],
    [
      'replaced by a command, and its new node is coming, long after the plan: waits',
      step({ ...replaced, atMs: nowMs - 75_000 }, { rooms: coming }),
      'wait',
    ],
    [
      'replaced by a command, and its new node is ready: ends',
      step(replaced, { rooms: ready }),
      'end',
    ],
    [
      'replaced by a command, and without room after the life of its plan: is let go',
      step({ ...replaced, atMs: nowMs - 75_000 }),
      'abandon',
    ],
    [
      'replaced by a command, and its new node is coming for too long: is let go',
      step({ ...replaced, atMs: nowMs - 600_000 }, { rooms: coming }),
      'abandon',
    ],
    ['expired without pods: ends', step({}, { pods: [daemon('d')] }), 'end'],
    ['expired with pods: asks', step({}), 'ask'],
    ['asked a moment ago: waits', step({ askedMs: nowMs - 5_000 }), 'wait'],
    ['asked long ago and nothing came: asks again', step({ askedMs: nowMs - 75_000 }), 'ask'],
    [
      'interrupted, asked a quarter of a minute ago and nothing came: asks again',
      step({ cause: 'interrupted', deadlineMs: nowMs + 60_000, askedMs: nowMs - 15_000 }),
      'ask',
    ],
    ['planned, and the launcher has not promised it yet: waits', step(asked), 'wait'],
    [
      'planned, and promised nowhere after the life of a plan: asks again',
      step({ ...asked, askedMs: nowMs - 75_000 }),
      'ask',
    ],
    ['promised on a node that is coming: waits', step(asked, { rooms: coming }), 'wait'],
    [
      'promised on a node that is coming, asked long ago: waits',
      step({ ...asked, askedMs: nowMs - 75_000 }, { rooms: coming }),
      'wait',
    ],
    [
      'one of two pods promised ready room: waits',
      step(asked, { pods: [pod('a'), pod('b')], rooms: { ...ready, b: 'coming' } }),
      'wait',
    ],
    ['promised ready room: ends', step(asked, { rooms: ready }), 'end'],
    ['promised ready room, the answer was lost: ends', step({}, { rooms: ready }), 'end'],
    [
      'expired, solver answered, waited too long: ends',
      step({ ...asked, atMs: nowMs - 2_000_000, answeredMs: nowMs - 900_000 }),
      'end',
    ],
    [
      'expired, a solver answered only after a long outage: waits for the replacement',
      step({ ...asked, atMs: nowMs - 2_000_000 }, { rooms: coming }),
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
      step({ atMs: nowMs - 300_000 }, { rooms: coming }),
      'wait',
    ],
    [
      'interrupted, half the notice over: ends',
      step({ cause: 'interrupted', atMs: nowMs - 60_000, deadlineMs: nowMs + 50_000 }),
      'end',
    ],
    [
      'interrupted, a solver answered, time is left: waits',
      step({ cause: 'interrupted', ...asked, deadlineMs: nowMs + 100_000 }),
      'wait',
    ],
    [
      'interrupted, a solver found no place: ends at once',
      step({ cause: 'interrupted', ...asked, unplaced: 1, deadlineMs: nowMs + 100_000 }),
      'end',
    ],
    [
      'interrupted, a solver found a place for one of two, which is coming: waits',
      step(
        { cause: 'interrupted', ...asked, unplaced: 1, deadlineMs: nowMs + 100_000 },
        { pods: [pod('a'), pod('b')], rooms: coming },
      ),
      'wait',
    ],
    [
      'interrupted, all that has a place is ready: ends',
      step(
        { cause: 'interrupted', ...asked, unplaced: 1, deadlineMs: nowMs + 100_000 },
        { pods: [pod('a'), pod('b')], rooms: ready },
      ),
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
        { cause: 'interrupted', ...asked, deadlineMs: nowMs + 110_000 },
        { pods: [pod('a'), pod('slow', { terminationGracePeriodSeconds: 100 })] },
      ),
      'end',
    ],
    [
      'interrupted, its pods end within the time left: waits',
      step(
        { cause: 'interrupted', ...asked, deadlineMs: nowMs + 111_000 },
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
      step({ ...asked, cause: 'interrupted', atMs: nowMs - 60_000 }),
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
      retirement: { cause, atMs: nowMs - 10_000, ...asked },
      view: view({ pods: [pod('a')], node: node('n1', { taints }) }),
      rooms: new Map([['uid-a', 'ready']]),
      limits,
      budgetsOf: () => [],
      podOf: () => undefined,
      nowMs,
    });
    expect(given.kind).toBe(kind);
  });

  test.each<[string, number, string]>([
    ['a minute before it is given up', 840_000, 'wait'],
    ['while a plan for it can still be admitted', 820_000, 'ask'],
  ])('whose room was lost %s', (_when, answeredAgoMs, expected) => {
    const answered = { askedMs: nowMs - 80_000, answeredMs: nowMs - answeredAgoMs };
    expect(driftStep({ ...answered, atMs: nowMs - 890_000 })).toBe(expected);
  });

  test('asks only for pods that need a place and are promised none', () => {
    const pods = [pod('a'), pod('b'), daemon('d')];
    const given = stepOf({}, { pods, rooms: coming });
    expect(given).toMatchObject({ kind: 'ask', pods: [{ name: 'b' }] });
    expect(podsWithoutRoom(pods, new Map()).map(({ name }) => name)).toEqual(['a', 'b']);
  });

  test('of an unhealthy node asks for pods as well that nothing may evict', () => {
    const repair = { cause: 'unhealthy', drainMs: 600_000 } as const;
    expect(stepOf(repair, { pods: [doNotDisrupt] })).toMatchObject({
      kind: 'ask',
      pods: [{ name: 'a' }],
    });
    expect(step({ ...repair, ...asked }, { pods: [doNotDisrupt], rooms: ready })).toBe('end');
  });
});
