import type { Condition, NodeClaim } from '@dovetail/core-api';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { NodeView } from '../facts/view.js';
import { claim, nowMs, pool, view } from '../testing/objects.js';
import { consolidatableChanges, consolidatableMs } from './consolidatable.js';

const off = 'it ends only if it is empty: consolidation is switched off (CONSOLIDATION=none)';

fc.configureGlobal({ seed: 1 });

const condition = (
  type: string,
  sinceMs: number,
  status: Condition['status'] = 'True',
): Condition => ({ type, status, reason: type, message: '', lastTransitionMs: sinceMs });
const initialized = (agoMs: number): Condition => condition('Initialized', nowMs - agoMs);
const held = (status: Condition['status'] = 'True'): Condition =>
  condition('Consolidatable', nowMs - 1_000, status);

/** A claim of the pool `default`, whose `consolidateAfter` is 30 s. */
const resting = (conditions: readonly Condition[], more: Partial<NodeClaim> = {}): NodeView =>
  view({ claim: claim('c1', { conditions, ...more }) });
const never = pool({ disruption: { policy: 'WhenEmpty', budgets: [] } });

describe('the condition Consolidatable', () => {
  test.each<[string, NodeView, 'set' | 'clear' | 'kept']>([
    [
      'is removed while consolidateAfter is Never',
      { ...resting([initialized(60_000), held()]), pool: never },
      'clear',
    ],
    [
      'stays away while consolidateAfter is Never',
      { ...resting([initialized(60_000)]), pool: never },
      'kept',
    ],
    ['is removed from a claim that is not initialised', resting([held()]), 'clear'],
    [
      'is removed from a claim whose Initialized is Unknown',
      resting([condition('Initialized', nowMs - 60_000, 'Unknown'), held()]),
      'clear',
    ],
    ['waits for the time after initialisation', resting([initialized(29_999)]), 'kept'],
    ['comes when that time is over', resting([initialized(30_000)]), 'set'],
    [
      'waits for the time after the last pod event',
      resting([initialized(60_000)], { lastPodEventMs: nowMs - 29_999 }),
      'kept',
    ],
    [
      'is removed by a pod event',
      resting([initialized(60_000), held()], { lastPodEventMs: nowMs - 1 }),
      'clear',
    ],
    [
      'counts from the last pod event even if initialisation came later',
      resting([initialized(10_000)], { lastPodEventMs: nowMs - 30_000 }),
      'set',
    ],
    [
      'is set to True if it is there and is not',
      resting([initialized(60_000), held('False')]),
      'set',
    ],
    ['is written once', resting([initialized(60_000), held()]), 'kept'],
    [
      'of a claim that is being deleted stays as it is',
      resting([initialized(60_000)], { deletionMs: nowMs }),
      'kept',
    ],
    [
      'of a claim without a pool stays as it is',
      { claim: resting([initialized(60_000)]).claim, pods: [] },
      'kept',
    ],
    [
      'of a static pool stays as it is',
      { ...resting([initialized(60_000)]), pool: pool({ replicas: 1 }) },
      'kept',
    ],
  ])('%s', (_what, given, expected) => {
    const { set, clear } = consolidatableChanges([given], nowMs);
    const change = set.length > 0 ? 'set' : clear.length > 0 ? 'clear' : 'kept';
    expect(change).toBe(expected);
  });

  test.each<
    [string, 'WhenEmpty' | 'WhenEmptyOrUnderutilized', boolean, string, string | undefined]
  >([
    ['says that consolidation is off', 'WhenEmptyOrUnderutilized', false, '', off],
    ['says so once', 'WhenEmptyOrUnderutilized', false, off, undefined],
    ['says it no more when it is on again', 'WhenEmptyOrUnderutilized', true, off, ''],
    ['keeps the words of others', 'WhenEmptyOrUnderutilized', true, 'other', undefined],
    ['of a pool that does not ask for it says nothing', 'WhenEmpty', false, '', undefined],
  ])('%s', (_what, policy, consolidates, message, written) => {
    const held = { ...initialized(60_000), type: 'Consolidatable', message };
    const given = {
      ...resting([initialized(60_000), held]),
      pool: pool({ disruption: { policy, consolidateAfterMs: 30_000, budgets: [] } }),
    };
    const { set, clear } = consolidatableChanges([given], nowMs, consolidates);
    expect([set.map((one) => one.message), clear]).toEqual([
      written === undefined ? [] : [written],
      [],
    ]);
  });

  test('says when the next claim is due, and gives claims by name in any order of views', () => {
    const of = (name: string, agoMs: number): NodeView =>
      view({ claim: claim(name, { conditions: [initialized(agoMs)] }) });
    const views = [of('b', 40_000), of('d', 10_000), of('a', 50_000), of('c', 20_000)];
    for (const given of [views, views.toReversed()]) {
      const { set, nextDueMs } = consolidatableChanges(given, nowMs);
      expect(set.map(({ claim: { name } }) => name)).toEqual(['a', 'b']);
      expect(nextDueMs).toBe(nowMs + 10_000);
    }
  });

  test('is set exactly from the time that consolidation waits for', () =>
    fc.assert(
      fc.property(
        fc.nat({ max: 60_000 }),
        fc.option(fc.nat({ max: 60_000 })),
        (agoMs, podAgoMs) => {
          const given = resting(
            [initialized(agoMs)],
            podAgoMs === null ? {} : { lastPodEventMs: nowMs - podAgoMs },
          );
          const isDue = (consolidatableMs(given) ?? Infinity) <= nowMs;
          expect(consolidatableChanges([given], nowMs).set.length).toBe(isDue ? 1 : 0);
        },
      ),
    ));
});
