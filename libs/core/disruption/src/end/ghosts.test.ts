import type { NodeClaim } from '@dovetail/core-api';
import { describe, expect, test } from 'vitest';

import { claim, nowMs } from '../testing/objects.js';
import { type GhostInput, planGhosts } from './ghosts.js';

const limits = { nodeMissingMinMs: 300_000, fleetShareMax: 0.1, alwaysAllowed: 3 };
const registered = (name: string, more: Partial<NodeClaim> = {}): NodeClaim =>
  claim(name, {
    conditions: [
      { type: 'Registered', status: 'True', reason: '', message: '', lastTransitionMs: 0 },
    ],
    ...more,
  });
const plan = (claims: readonly NodeClaim[], more: Partial<GhostInput> = {}) =>
  planGhosts({
    claims,
    hasNode: () => false,
    nowMs,
    limits,
    sinceMs: new Map(),
    endedMs: new Map(),
    ...more,
  });
const since = (claims: readonly NodeClaim[], ageMs: number) =>
  new Map(claims.map(({ uid }) => [uid, nowMs - ageMs]));
const many = (count: number) =>
  Array.from({ length: count }, (_, index) => registered(`c${String(index)}`));

describe('a registered claim without a Node', () => {
  test.each<[string, NodeClaim, number, boolean, readonly string[]]>([
    ['that has its node after all stays', registered('c'), 300_000, true, []],
    ['for less than five minutes stays', registered('c'), 299_999, false, []],
    ['that never registered stays', claim('c'), 300_000, false, []],
    ['that is being deleted stays', registered('c', { deletionMs: nowMs }), 300_000, false, []],
    ['for five minutes ends', registered('c'), 300_000, false, ['c']],
  ])('%s', (_what, one, ageMs, has, names) => {
    const ghosts = plan([one], { sinceMs: since([one], ageMs), hasNode: () => has });
    expect(ghosts.end.map(({ name }) => name)).toEqual(names);
  });

  test('is remembered from the first time on', () => {
    const first = plan([registered('c')]);
    expect([first.end, [...first.sinceMs]]).toEqual([[], [['uid-c', nowMs]]]);
    const later = plan([registered('c')], { nowMs: nowMs + 1_000, sinceMs: first.sinceMs });
    expect([...later.sinceMs]).toEqual([['uid-c', nowMs]]);
  });

  test.each([
    [3, 3, 0],
    [4, 0, 1],
  ])('among %i of them: %i end, %i brakes', (count, ended, brakes) => {
    const claims = many(count);
    const ghosts = plan(claims, { sinceMs: since(claims, 300_000) });
    expect([ghosts.end.length, ghosts.brakes.length]).toEqual([ended, brakes]);
  });

  test.each([
    ['within an hour counts', 3_599_999, 0],
    ['an hour ago counts no more', 3_600_000, 3],
  ])('beside one that was ended %s against the limit of three', (_what, agoMs, ended) => {
    const claims = many(3);
    const endedMs = new Map([['uid-before', nowMs - agoMs]]);
    expect(plan(claims, { sinceMs: since(claims, 300_000), endedMs }).end).toHaveLength(ended);
  });

  test('ends beside nine that have theirs, however many claims there are', () => {
    const claims = many(100);
    const ghosts = plan(claims, {
      sinceMs: since(claims, 300_000),
      hasNode: ({ name }) => name.length === 3,
    });
    expect([ghosts.end.length, ghosts.brakes.length]).toEqual([10, 0]);
  });
});
