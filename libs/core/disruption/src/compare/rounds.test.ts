import type { NodeClaim } from '@dovetail/core-api';
import { expect, test } from 'vitest';

import { claim, nowMs } from '../testing/objects.js';
import { endReasonOf, Rounds } from './rounds.js';

const marked = (reason: string): Partial<NodeClaim> => ({
  conditions: [
    { type: 'DisruptionReason', status: 'True', reason, message: '', lastTransitionMs: nowMs },
  ],
});
const old = { createdMs: nowMs - 7_200_000, expireAfterMs: 3_600_000 };

test.each<[string, Partial<NodeClaim>, string | undefined]>([
  ['that stays', {}, undefined],
  ['that a command ends, before it is deleted', marked('Underutilized'), 'Underutilized'],
  ['that is empty', { ...marked('Empty'), deletionMs: nowMs }, 'Empty'],
  ['that has drifted', marked('Drifted'), 'Drifted'],
  ['of a command that we do not know', marked('Sideways'), 'Other'],
  ['that is deleted once it is old enough', { ...old, deletionMs: nowMs }, 'Expired'],
  ['that is old enough and still there', old, undefined],
  ['that somebody deletes', { deletionMs: nowMs }, 'Other'],
])('the end of a claim %s', (_what, over, reason) => {
  expect(endReasonOf(claim('c', over), nowMs)).toBe(reason);
});

const gatherMs = 1_000;

test('claims that were there at the first look are history, whether they end or not', () => {
  const rounds = new Rounds({ gatherMs });
  const ending = claim('b', marked('Empty'));
  expect(rounds.look([claim('a'), ending], 0)).toBeUndefined();
  expect(rounds.look([claim('a'), ending], 5_000)).toBeUndefined();
});

test('claims that come within a moment of each other are one round, and a later one is the next', () => {
  const rounds = new Rounds({ gatherMs });
  rounds.look([], 0);
  rounds.look([claim('a')], 100);
  expect(rounds.look([claim('a'), claim('bb')], 900)).toBeUndefined();
  expect(rounds.look([claim('a'), claim('bb')], 1_900)).toEqual({
    beganMs: 100,
    lastMs: 900,
    launched: ['uid-a', 'uid-bb'],
    ended: [],
  });
  rounds.look([claim('a'), claim('bb'), claim('ccc')], 3_000);
  expect(rounds.look([claim('a'), claim('bb'), claim('ccc')], 4_000)?.launched).toEqual([
    'uid-ccc',
  ]);
});

test('an end counts once, with its first reason, and a replacement is of the same round', () => {
  const rounds = new Rounds({ gatherMs });
  rounds.look([claim('a')], 0);
  rounds.look([claim('a', marked('Underutilized')), claim('bb')], 100);
  const round = rounds.look([claim('a', marked('Underutilized')), claim('bb')], 1_200);
  expect(round).toMatchObject({
    launched: ['uid-bb'],
    ended: [{ claimUid: 'uid-a', reason: 'Underutilized' }],
  });
  rounds.look([claim('a', { deletionMs: nowMs }), claim('bb')], 2_000);
  expect(rounds.look([claim('bb')], 9_000)).toBeUndefined();
});

test('a claim that ends without ever having had an instance is no end of a node', () => {
  const rounds = new Rounds({ gatherMs });
  const { providerId: _none, ...failed } = claim('a');
  rounds.look([failed], 0);
  rounds.look([{ ...failed, deletionMs: nowMs }], 100);
  expect(rounds.look([], 5_000)).toBeUndefined();
});

test('claims of a time without watches are skipped, with the round that had begun', () => {
  const rounds = new Rounds({ gatherMs });
  rounds.look([claim('a')], 0);
  rounds.look([claim('a'), claim('bb')], 100);
  const now = [claim('a', marked('Empty')), claim('bb'), claim('ccc')];
  expect(rounds.skip(now, 60_000)).toMatchObject({
    launched: ['uid-bb', 'uid-ccc'],
    ended: [{ claimUid: 'uid-a', reason: 'Empty' }],
  });
  expect(rounds.skip(now, 61_000)).toBeUndefined();
  expect(rounds.look(now, 69_000)).toBeUndefined();
});
