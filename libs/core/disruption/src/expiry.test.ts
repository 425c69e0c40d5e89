import { expect, test } from '@jest/globals';
import fc from 'fast-check';

import { expiryOf } from './expiry.js';
import { claim, nowMs } from './testing/objects.js';

fc.configureGlobal({ seed: 1 });

test.each([
  ['never without expireAfter', undefined, 'never'],
  ['later before its time', 3_600_001, 'later'],
  ['due at its time', 3_600_000, 'due'],
] as const)('a claim expires %s', (_what, expireAfterMs, kind) =>
  expect(
    expiryOf(claim('c1', expireAfterMs === undefined ? {} : { expireAfterMs }), nowMs).kind,
  ).toBe(kind),
);

test('a claim is due from its end on, and at no moment before', () =>
  fc.assert(
    fc.property(
      fc.nat({ max: 10_000_000 }),
      fc.nat({ max: 20_000_000 }),
      (expireAfterMs, ageMs) => {
        const createdMs = nowMs - ageMs;
        const expiry = expiryOf(claim('c1', { createdMs, expireAfterMs }), nowMs);
        expect(expiry).toMatchObject({
          kind: ageMs >= expireAfterMs ? 'due' : 'later',
          dueMs: createdMs + expireAfterMs,
        });
      },
    ),
  ));

test('the note says the age and the limit', () =>
  expect(expiryOf(claim('c1', { expireAfterMs: 1000 }), nowMs).note).toMatchObject({
    code: 'expired',
    values: { ageSeconds: '3600', expireAfterSeconds: '1' },
  }));
