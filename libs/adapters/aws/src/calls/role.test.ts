import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { createAwsCloud } from '../cloud.js';
import { systemClock, twinAccount } from '../testing/account.js';
import { roleCredentials } from './role.js';
import { AwsSession } from './session.js';

const arn = 'arn:aws:iam::123456789012:role/KarpenterNodeRole-lab';
const minute = 60_000;
let account: Awaited<ReturnType<typeof twinAccount>>;
const mayOnly = (rights: readonly string[]): void =>
  account.twin.gate.setRights(account.connection.credentials.accessKeyId, [...rights]);

beforeAll(async () => {
  account = await twinAccount();
});
afterAll(() => account.stop());

describe('a session with a role', () => {
  afterEach(() => mayOnly(['*']));

  test('calls AWS with the rights of the role, and needs no others itself', async () => {
    mayOnly(['sts:AssumeRole']);
    const own = createAwsCloud({ ...account.connection, clock: systemClock });
    const role = { arn, durationSeconds: 900 };
    const assumed = createAwsCloud({ ...account.connection, role, clock: systemClock });
    await expect(own.subnets([])).rejects.toMatchObject({ code: 'denied' });
    expect((await assumed.subnets([])).length).toBeGreaterThan(0);
    expect(await assumed.identity()).toMatchObject({ accountId: '123456789012' });
    own.close();
    assumed.close();
  });

  test('is denied when it may not take the role', async () => {
    mayOnly([]);
    const role = { arn, durationSeconds: 900 };
    const assumed = createAwsCloud({ ...account.connection, role, clock: systemClock });
    await expect(assumed.subnets([])).rejects.toMatchObject({ code: 'denied' });
    assumed.close();
  });
});

describe('the credentials of a role', () => {
  let base: AwsSession;
  let laterMs = 0;
  beforeEach(() => {
    laterMs = 0;
    base = new AwsSession({
      ...account.connection,
      clock: { ...systemClock, nowMs: () => Date.now() + laterMs },
    });
  });
  afterEach(() => {
    base.close();
    mayOnly(['*']);
  });

  /** The number of different keys that are given at these minutes. */
  async function keysAt(durationSeconds: number, minutes: readonly number[]): Promise<number> {
    const credentials = roleCredentials(base, { arn, durationSeconds });
    const seen = new Set<string>();
    for (const at of minutes) {
      laterMs = at * minute;
      seen.add((await credentials()).accessKeyId);
    }
    return seen.size;
  }

  test.each([
    ['a quarter of an hour', 900, [0, 1, 9], 1],
    ['a quarter of an hour', 900, [0, 11], 2],
    ['an hour', 3_600, [0, 11, 54], 1],
    ['an hour', 3_600, [0, 11, 56], 2],
  ])('of %s (%i s), asked for at the minutes %j, come %i times', async (_, seconds, at, times) =>
    expect(await keysAt(seconds, at)).toBe(times),
  );

  test('are asked for once by many clients at a time', async () => {
    const credentials = roleCredentials(base, { arn, durationSeconds: 900 });
    const keys = await Promise.all([credentials(), credentials(), credentials()]);
    expect(new Set(keys.map(({ accessKeyId }) => accessKeyId)).size).toBe(1);
  });

  test('stay in use until they end while STS refuses new ones', async () => {
    const credentials = roleCredentials(base, { arn, durationSeconds: 900 });
    const first = await credentials();
    mayOnly([]);
    laterMs = 14 * minute;
    expect(await credentials()).toEqual(first);
    laterMs = 16 * minute;
    await expect(credentials()).rejects.toThrow(/AssumeRole/);
    mayOnly(['*']);
    expect((await credentials()).accessKeyId).not.toBe(first.accessKeyId);
  });
});
