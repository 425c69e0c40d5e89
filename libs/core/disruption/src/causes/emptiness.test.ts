import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { NodeView } from '../facts/view.js';
import { claim, daemon, nowMs, pod, pool, view } from '../testing/objects.js';
import { emptinessOf, emptySinceAnnotation, podsThatCount } from './emptiness.js';

fc.configureGlobal({ seed: 1 });

const emptyAt = (ageMs: number) => ({
  [emptySinceAnnotation]: new Date(nowMs - ageMs).toISOString(),
});

describe('emptiness', () => {
  test.each<[string, Partial<NodeView>, string]>([
    ['a pod that needs a place: occupied', { pods: [pod('a')] }, 'occupied'],
    [
      'only daemons: empty',
      { pods: [daemon('d')], claim: claim('c1', { annotations: emptyAt(60_000) }) },
      'due',
    ],
    [
      'only ended pods: empty',
      {
        pods: [pod('a', { phase: 'Succeeded' })],
        claim: claim('c1', { annotations: emptyAt(60_000) }),
      },
      'due',
    ],
    [
      'a pod that costs nothing to evict: empty',
      {
        pods: [
          pod('a', {
            annotations: { 'controller.kubernetes.io/pod-deletion-cost': '-2147483647' },
          }),
        ],
        claim: claim('c1', { annotations: emptyAt(60_000) }),
      },
      'due',
    ],
    [
      'a terminating pod of a stateful set: occupied',
      {
        pods: [
          pod('a', {
            deletionMs: nowMs,
            owner: { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 's', uid: 's' },
          }),
        ],
      },
      'occupied',
    ],
    ['first seen empty: to be marked before anything counts', {}, 'mark'],
    [
      'marked 29 s ago: counting',
      { claim: claim('c1', { annotations: emptyAt(29_000) }) },
      'counting',
    ],
    ['marked 30 s ago: due', { claim: claim('c1', { annotations: emptyAt(30_000) }) }, 'due'],
    [
      'marked long ago, a pod came and went 10 s ago: counting',
      { claim: claim('c1', { annotations: emptyAt(600_000), lastPodEventMs: nowMs - 10_000 }) },
      'counting',
    ],
    [
      'with the label and not the condition Initialized: disabled, since it is not Consolidatable',
      { claim: claim('c1', { annotations: emptyAt(600_000), conditions: [] }) },
      'disabled',
    ],
    [
      'initialised 10 s ago: counting',
      {
        claim: claim('c1', {
          annotations: emptyAt(600_000),
          conditions: [
            {
              type: 'Initialized',
              status: 'True',
              reason: '',
              message: '',
              lastTransitionMs: nowMs - 10_000,
            },
          ],
        }),
      },
      'counting',
    ],
    [
      'a static pool: disabled',
      { pool: pool({ replicas: 1 }), claim: claim('c1', { annotations: emptyAt(600_000) }) },
      'disabled',
    ],
    [
      'consolidateAfter Never: disabled',
      {
        pool: pool({ disruption: { policy: 'WhenEmpty', budgets: [] } }),
        claim: claim('c1', { annotations: emptyAt(600_000) }),
      },
      'disabled',
    ],
    [
      'under every policy',
      {
        pool: pool({
          disruption: { policy: 'WhenEmptyOrUnderutilized', consolidateAfterMs: 0, budgets: [] },
        }),
        claim: claim('c1', { annotations: emptyAt(1) }),
      },
      'due',
    ],
  ])('%s', (_what, more, kind) => expect(emptinessOf(view(more), nowMs).kind).toBe(kind));

  test('a pod that comes takes the mark away', () =>
    expect(
      emptinessOf(
        view({ pods: [pod('a')], claim: claim('c1', { annotations: emptyAt(1) }) }),
        nowMs,
      ),
    ).toMatchObject({ kind: 'occupied', unmark: true }));
});

describe('the countdown of an empty node', () => {
  const empty = (ageMs: number, consolidateAfterMs = 30_000): NodeView =>
    view({
      claim: claim('c1', { annotations: emptyAt(ageMs) }),
      pool: pool({ disruption: { policy: 'WhenEmpty', consolidateAfterMs, budgets: [] } }),
    });

  test('is due exactly when its time is over', () =>
    fc.assert(
      fc.property(fc.nat({ max: 100_000 }), fc.nat({ max: 100_000 }), (ageMs, afterMs) => {
        const emptiness = emptinessOf(empty(ageMs, afterMs), nowMs);
        expect(emptiness.kind).toBe(ageMs >= afterMs ? 'due' : 'counting');
        if (emptiness.kind === 'counting') expect(emptiness.dueMs).toBe(nowMs - ageMs + afterMs);
      }),
    ));

  test('never runs backwards: a node that is due stays due', () =>
    fc.assert(
      fc.property(
        fc.integer({ min: 30_000, max: 60_000 }),
        fc.nat({ max: 60_000 }),
        (ageMs, later) => {
          expect(emptinessOf(empty(ageMs), nowMs + later).kind).toBe('due');
        },
      ),
    ));

  test('begins anew with a mark that cannot be read', () =>
    expect(
      emptinessOf(
        view({ claim: claim('c1', { annotations: { [emptySinceAnnotation]: 'x' } }) }),
        nowMs,
      ),
    ).toEqual({ kind: 'mark', sinceMs: nowMs }));

  test('says in its note how far it is', () =>
    expect(emptinessOf(empty(10_000), nowMs)).toMatchObject({
      note: { code: 'countdown', values: { emptySeconds: '10', afterSeconds: '30' } },
    }));
});

test('only a pod that would need another place, and costs something to move, keeps a node', () => {
  const cheap = { 'controller.kubernetes.io/pod-deletion-cost': String(-(2 ** 28)) };
  const pods = [
    pod('a'),
    daemon('d'),
    pod('cheap', { annotations: cheap }),
    pod('s', { phase: 'Failed' }),
  ];
  expect(podsThatCount(pods).map(({ name }) => name)).toEqual(['a']);
});
