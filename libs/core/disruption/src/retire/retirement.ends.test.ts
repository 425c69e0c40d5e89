import { expect, test } from 'vitest';

import type { Retirement } from '../facts/retirement-record.js';
import { claim, node, nowMs, pod, view } from '../testing/objects.js';
import { endDeadlineMs, retirementStep } from './retirement.js';

const disrupted = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' } as const;
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
const asked = { askedMs: nowMs - 5_000, answeredMs: nowMs - 5_000 };
const coming = { a: 'coming' } as const;

test.each([
  ['that is refused is let go, if pods have no room', {}, 'abandon'],
  ['that is refused goes on waiting, if others gave room to all', { rooms: coming }, 'wait'],
])('a plan for the pods of a drifted node %s', (_what, more, kind) => {
  const conditions = ['Initialized', 'Drifted'].map((type) => ({
    ...{ type, status: 'True' as const, reason: 'AMIDrift', message: '' },
    lastTransitionMs: nowMs - 60_000,
  }));
  const given = retirementStep({
    retirement: { cause: 'drifted', atMs: nowMs - 10_000, ...asked },
    view: view({
      claim: claim('c1', { conditions }),
      pods: [pod('a')],
      node: node('n1', { taints: [disrupted] }),
    }),
    rooms: new Map(
      Object.entries('rooms' in more ? more.rooms : {}).map(([name, room]) => [
        `uid-${name}`,
        room,
      ]),
    ),
    limits,
    budgetsOf: () => [],
    podOf: () => undefined,
    nowMs,
    retiring: true,
    refused: 'the pool has reached its limit',
  });
  expect(given.kind).toBe(kind);
});

test.each<[string, Partial<Retirement>, number | undefined, number | undefined]>([
  ['by its notice', { deadlineMs: 7 }, 5, 7],
  ['at no time, if nothing limits it', {}, 5, undefined],
  ['ten minutes after its repair began to end it', { drainMs: 600_000 }, undefined, 600_000],
  ['by the shorter grace period of its claim', { drainMs: 600_000 }, 60_000, 60_000],
])('a node must be gone %s', (_when, retirement, graceMs, after) => {
  const of = { cause: 'unhealthy', atMs: 0, ...retirement } as const;
  const held = claim('c1', graceMs === undefined ? {} : { terminationGracePeriodMs: graceMs });
  const isOfNow = retirement.deadlineMs === undefined && after !== undefined;
  expect(endDeadlineMs(held, of, nowMs)).toBe(isOfNow ? nowMs + after : after);
});
