import { type Clock, neverStopping } from '@dovetail/core-ports';
import { CloudError, LeadershipLost } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import { AwsCalls } from './calls.js';
import { cloudErrorOf } from './errors.js';
import { Pacer } from './pacer.js';
import { allPages, inPieces } from './paging.js';

/** A clock on which sleeping takes no time but passes it. */
function sleepingClock(): Clock & { passedMs(): number; readonly sleptMs: number[] } {
  let nowMs = 0;
  const sleptMs: number[] = [];
  return {
    nowMs: () => nowMs,
    sleep: (durationMs) => {
      nowMs += durationMs;
      sleptMs.push(durationMs);
      return Promise.resolve();
    },
    passedMs: () => nowMs,
    sleptMs,
  };
}

describe('pacing', () => {
  test('a burst goes at once, the rest at the rate', async () => {
    const clock = sleepingClock();
    const pacer = new Pacer(clock, { ratePerSecond: 10, burst: 5 });
    for (let call = 0; call < 25; call += 1) await pacer.take(neverStopping);
    expect(clock.passedMs()).toBe(2_000);
  });

  test('throttling halves the rate down to a tenth and empties the bucket; success brings it back', async () => {
    const clock = sleepingClock();
    const pacer = new Pacer(clock, { ratePerSecond: 10, burst: 5 });
    pacer.throttled();
    expect(pacer.ratePerSecond()).toBe(5);
    await pacer.take(neverStopping);
    expect(clock.passedMs()).toBe(200);
    for (let time = 0; time < 10; time += 1) pacer.throttled();
    expect(pacer.ratePerSecond()).toBe(1);
    for (let time = 0; time < 60; time += 1) pacer.succeeded();
    expect(pacer.ratePerSecond()).toBe(10);
  });

  test('callers side by side are spread, not bunched', async () => {
    const waits: number[] = [];
    const clock: Clock = {
      nowMs: () => 0,
      sleep: (durationMs) => {
        waits.push(durationMs);
        return Promise.resolve();
      },
    };
    const pacer = new Pacer(clock, { ratePerSecond: 2, burst: 1 });
    await Promise.all([
      pacer.take(neverStopping),
      pacer.take(neverStopping),
      pacer.take(neverStopping),
    ]);
    expect(waits).toEqual([500, 1000]);
  });
});

describe('calls', () => {
  test.each([
    ['none', 0, [100, 200, 300, 300]],
    ['half', 0.5, [75, 150, 225, 225]],
    ['nearly all', 0.999, [50, 100, 150, 150]],
  ])(
    'the delay between tries doubles up to its limit; %s of its random half is left out',
    async (_part, random, delays) => {
      const clock = sleepingClock();
      const calls = new AwsCalls({
        clock,
        limits: { attemptsMax: 5, backoffMs: 100, backoffMsMax: 300 },
        random: () => random,
      });
      await expect(
        calls.run('other', 'a:B', () =>
          Promise.reject(Object.assign(new Error('x'), { name: 'ServiceUnavailable' })),
        ),
      ).rejects.toMatchObject({ code: 'unavailable' });
      expect(clock.sleptMs).toEqual(delays);
    },
  );

  test('two callers that fail together do not try again together', async () => {
    const once = async (): Promise<number> => {
      const clock = sleepingClock();
      await expect(
        new AwsCalls({ clock }).run('other', 'a:B', () =>
          Promise.reject(Object.assign(new Error('x'), { name: 'ServiceUnavailable' })),
        ),
      ).rejects.toMatchObject({ code: 'unavailable' });
      return clock.passedMs();
    };
    expect(new Set([await once(), await once(), await once()]).size).toBeGreaterThan(1);
  });

  test('a call is not retried once its caller has stopped', async () => {
    const calls = new AwsCalls({ clock: sleepingClock() });
    let tries = 0;
    await expect(
      calls.run(
        'other',
        'a:B',
        () => {
          tries += 1;
          return Promise.reject(Object.assign(new Error('x'), { name: 'AbortError' }));
        },
        AbortSignal.abort(),
      ),
    ).rejects.toBeInstanceOf(CloudError);
    expect(tries).toBe(1);
  });
});

describe('errors of the SDK', () => {
  test.each([
    ['its code', { name: 'UnauthorizedOperation' }, 'denied', 'UnauthorizedOperation'],
    [
      'the code beside a generic name',
      { name: 'Error', Code: 'InvalidInstanceID.NotFound' },
      'not-found',
      'InvalidInstanceID.NotFound',
    ],
    ['a broken connection', { name: 'Error', code: 'ECONNREFUSED' }, 'unavailable', 'ECONNREFUSED'],
    [
      'a status where the code is new',
      { name: 'SomethingNew', $metadata: { httpStatusCode: 503 } },
      'unavailable',
      'SomethingNew',
    ],
    [
      'a status of refusal',
      { name: 'SomethingNew', $metadata: { httpStatusCode: 403 } },
      'denied',
      'SomethingNew',
    ],
    [
      'a status of haste',
      { name: 'SomethingNew', $metadata: { httpStatusCode: 429 } },
      'throttled',
      'SomethingNew',
    ],
    ['nothing at all', {}, 'unavailable', 'Unknown'],
    [
      'a defect of the request',
      { name: 'InvalidParameterValue', $metadata: { httpStatusCode: 400 } },
      'invalid-request',
      'InvalidParameterValue',
    ],
  ])('follow from %s', (_by, error, code, awsCode) =>
    expect(cloudErrorOf(error, 'ec2:X')).toMatchObject({ code, awsCode }),
  );
  test('a CloudError passes unchanged', () => {
    const error = new CloudError('denied', 'X', 'm');
    expect(cloudErrorOf(error, 'ec2:X')).toBe(error);
  });
});

describe('paging', () => {
  test('follows tokens to the end, in order', async () => {
    const pages: Record<string, { items: number[]; next?: string }> = {
      '': { items: [1, 2], next: 'b' },
      b: { items: [], next: 'c' },
      c: { items: [3], next: '' },
    };
    expect(
      await allPages(
        (token) => Promise.resolve(pages[token ?? '']),
        (page) => ({ items: page?.items, next: page?.next }),
      ),
    ).toEqual([1, 2, 3]);
  });
  test('an endless token is an error', async () => {
    await expect(
      allPages(
        () => Promise.resolve('page'),
        () => ({ items: [1], next: 'again' }),
        3,
      ),
    ).rejects.toThrow(/3 pages/);
  });
  test('pieces keep every item, in order', () =>
    expect([inPieces([1, 2, 3, 4, 5], 2), inPieces([], 2)]).toEqual([[[1, 2], [3, 4], [5]], []]));
});

describe('a process that may no longer write', () => {
  test.each<['terminate' | 'write' | 'tag' | 'read' | 'queue', readonly string[]]>([
    ['terminate', ['first']],
    ['write', ['first']],
    ['tag', ['first']],
    ['read', ['first', 'second']],
    ['queue', ['first', 'second']],
  ])('repeats only what changes nothing: a call of kind %s', async (kind, expected) => {
    const made: string[] = [];
    let leads = true;
    const calls = new AwsCalls({ clock: sleepingClock(), mayWrite: () => leads });
    const work = (): Promise<void> => {
      made.push(made.length === 0 ? 'first' : 'second');
      leads = false;
      return made.length > 1
        ? Promise.resolve()
        : Promise.reject(Object.assign(new Error('slow down'), { name: 'RequestLimitExceeded' }));
    };
    const running = calls.run(kind, 'a:B', work);
    if (expected.length > 1) await running;
    else await expect(running).rejects.toBeInstanceOf(LeadershipLost);
    expect(made).toEqual(expected);
  });
});
