import type { NodeClaim, Pool } from '@dovetail/core-api';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { NodeView } from '../facts/view.js';
import { claim, node, nowMs, pool } from '../testing/objects.js';
import { allowedExpiries, expiryOf } from './expiry.js';

fc.configureGlobal({ seed: 1 });

test.each([
  ['never without expireAfter', undefined, 'never'],
  ['later before its time', 3_600_001, 'later'],
  ['due at its time', 3_600_000, 'due'],
] as const)('a claim expires %s', (_what, expireAfterMs, kind) =>
  expect(
    expiryOf({ claim: claim('c1', expireAfterMs === undefined ? {} : { expireAfterMs }) }, nowMs)
      .kind,
  ).toBe(kind),
);

const provisioner = (expireAfterMs?: number): Pool =>
  pool({
    identity: { kind: 'Provisioner', name: 'default' },
    ...(expireAfterMs === undefined ? {} : { expireAfterMs }),
  });
const aged = { createdMs: nowMs - 3_600_000 };

test.each([
  [
    'a TTL that a Provisioner gets later counts for the nodes that it has',
    {},
    provisioner(1_800_000),
    'due',
  ],
  [
    'a TTL that is raised later, too',
    { expireAfterMs: 1_800_000 },
    provisioner(7_200_000),
    'later',
  ],
  [
    'a TTL that is taken away later counts no more',
    { expireAfterMs: 1_800_000 },
    provisioner(),
    'never',
  ],
  [
    'a NodePool that gets another lifetime moves no expiry',
    { expireAfterMs: 7_200_000 },
    pool({ expireAfterMs: 1_800_000 }),
    'later',
  ],
] as const)('%s', (_what, more, of, kind) =>
  expect(expiryOf({ claim: claim('c1', { ...aged, ...more }), pool: of }, nowMs).kind).toBe(kind),
);

test('a claim is due from its end on, and at no moment before', () =>
  fc.assert(
    fc.property(
      fc.nat({ max: 10_000_000 }),
      fc.nat({ max: 20_000_000 }),
      (expireAfterMs, ageMs) => {
        const createdMs = nowMs - ageMs;
        const expiry = expiryOf({ claim: claim('c1', { createdMs, expireAfterMs }) }, nowMs);
        expect(expiry).toMatchObject({
          kind: ageMs >= expireAfterMs ? 'due' : 'later',
          dueMs: createdMs + expireAfterMs,
        });
      },
    ),
  ));

test('the note says the age and the limit', () =>
  expect(expiryOf({ claim: claim('c1', { expireAfterMs: 1000 }) }, nowMs).note).toMatchObject({
    code: 'expired',
    values: { ageSeconds: '3600', expireAfterSeconds: '1' },
  }));

describe('the pace of expiry', () => {
  const limits = { poolShareMax: 0.1, alwaysAllowed: 5, drainMs: 900_000 };
  const expiring = (index: number, more: Partial<NodeClaim> = {}): NodeView => ({
    claim: claim(`c${String(index)}`, more),
    node: node(`n${String(index)}`, {
      annotations: { 'dovetail.sh/retirement': '{"cause":"expired","atMs":1}' },
    }),
    pods: [],
  });
  const staying = (index: number): NodeView => ({ claim: claim(`s${String(index)}`), pods: [] });
  const many = <T>(count: number, make: (index: number) => T): T[] =>
    Array.from({ length: count }, (_, index) => make(index));

  test.each<[string, readonly NodeView[], number]>([
    ['five of a small pool', many(12, staying), 5],
    ['a tenth of a large pool', many(200, staying), 20],
    ['as many as are not under way', [...many(3, expiring), ...many(9, staying)], 2],
    ['none beyond the limit', [...many(9, expiring), ...many(3, staying)], 0],
    [
      'nodes that drain count',
      [...many(3, (index) => expiring(index, { deletionMs: nowMs - 1 })), ...many(9, staying)],
      2,
    ],
    [
      'a drain that is stuck does not count',
      many(12, (index) => expiring(index, { deletionMs: nowMs - 900_000 })),
      5,
    ],
  ])('allows %s', (_what, views, allowed) =>
    expect(allowedExpiries(views, nowMs, limits).get('NodePool/default')).toBe(allowed),
  );
});

test.each([
  [104, 2_592_000, '1m44s old, expires after 30 days'],
  [90_000, 172_800, '25h old, expires after 2 days'],
  [864_000, 86_400, '10 days old, expires after 24h'],
])('a node of %d s that lives %d s is %j', (ageSeconds, lifeSeconds, message) => {
  const createdMs = nowMs - ageSeconds * 1_000;
  const one = { claim: claim('c', { createdMs, expireAfterMs: lifeSeconds * 1_000 }) };
  const expiry = expiryOf(one, nowMs);
  expect(expiry.note.message).toBe(message);
});
