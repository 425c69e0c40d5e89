import { wholeCapacityType } from '@dovetail/core-ec2-model';
import { plainTypeValue } from '@dovetail/core-ec2-model/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { UnavailableOfferings } from './unavailable.js';

const spot = { instanceType: 'm5.large', zone: 'a', capacityType: 'spot' as const };
const minute = 60_000;
const options = { avoidMs: 3 * minute, avoidMaxMs: 24 * minute };

describe('offerings without capacity', () => {
  test('are avoided for three minutes, longer after each failure in a row, and forgotten when they launch', () => {
    const avoided = new UnavailableOfferings(options);
    expect(avoided.fail(spot, 'x', 0)).toMatchObject({ untilMs: 3 * minute, failures: 1 });
    expect(avoided.fail(spot, 'x', minute)).toMatchObject({ untilMs: 3 * minute, failures: 1 });
    expect([avoided.isAvoided(spot, 3 * minute - 1), avoided.isAvoided(spot, 3 * minute)]).toEqual([
      true,
      false,
    ]);
    expect(avoided.fail(spot, 'x', 4 * minute)).toMatchObject({
      untilMs: 10 * minute,
      failures: 2,
    });
    expect(avoided.fail(spot, 'x', 11 * minute)).toMatchObject({
      untilMs: 23 * minute,
      failures: 3,
    });
    expect(avoided.fail(spot, 'x', 90 * minute)).toMatchObject({ failures: 1 });
    expect(avoided.succeed(spot)).toBe(true);
    expect(avoided.avoided(0)).toEqual([]);
  });
  test('are other offerings than those of another zone or capacity type', () => {
    const avoided = new UnavailableOfferings({ avoidMs: minute, avoidMaxMs: minute });
    avoided.fail(spot, 'x', 0);
    expect([
      avoided.isAvoided({ ...spot, zone: 'b' }, 1),
      avoided.isAvoided({ ...spot, capacityType: 'on-demand' }, 1),
    ]).toEqual([false, false]);
  });
  test('are all offerings of a capacity type that cannot be bought at all, until one launches', () => {
    const avoided = new UnavailableOfferings(options);
    avoided.fail(wholeCapacityType('spot'), 'x', 0);
    const other = { ...spot, instanceType: 'c5.large', zone: 'b' };
    const onDemand = { ...other, capacityType: 'on-demand' as const };
    expect([spot, other, onDemand].map((one) => avoided.isAvoided(one, 1))).toEqual([
      true,
      true,
      false,
    ]);
    expect([avoided.succeed(other), avoided.isAvoided(spot, 1)]).toEqual([true, false]);
  });
  test('are avoided no longer than the maximum, however often they fail', () =>
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 30 * minute }), { minLength: 1 }), (waits) => {
        const avoided = new UnavailableOfferings(options);
        let nowMs = 0;
        for (const waitMs of waits) {
          nowMs += waitMs;
          const { untilMs } = avoided.fail(spot, 'x', nowMs);
          expect(untilMs - nowMs).toBeGreaterThan(0);
          expect(untilMs - nowMs).toBeLessThanOrEqual(options.avoidMaxMs);
        }
      }),
    ));
});

describe('what a predecessor published', () => {
  const published = { ...spot, awsCode: 'x', failures: 3, untilMs: 10 * minute };
  test.each([
    ['is taken over', undefined, 10 * minute],
    ['gives way to a later end', 20 * minute, 20 * minute],
    ['replaces an earlier end', 5 * minute, 10 * minute],
  ])('%s', (_sentence, heldUntilMs, untilMs) => {
    const avoided = new UnavailableOfferings(options);
    if (heldUntilMs !== undefined) avoided.learn({ ...published, untilMs: heldUntilMs });
    avoided.learn(published);
    expect(avoided.avoided(0)).toMatchObject([{ untilMs }]);
  });
  test('counts as a failure in a row', () => {
    const avoided = new UnavailableOfferings(options);
    avoided.learn(published);
    expect(avoided.fail(spot, 'x', 11 * minute)).toMatchObject({ failures: 4 });
  });
});

describe('a type as it is available now', () => {
  const type = plainTypeValue('m5.large', 2000);
  const offering = { ...spot, capacityType: 'on-demand' as const };
  test('is the same value when none of its offerings is avoided', () => {
    const avoided = new UnavailableOfferings(options);
    avoided.fail(spot, 'x', 0);
    expect(avoided.apply(type, 0)).toBe(type);
  });
  test('has its avoided offerings unavailable until their time is over', () => {
    const avoided = new UnavailableOfferings(options);
    avoided.fail(offering, 'x', 0);
    const availableAt = (nowMs: number) =>
      avoided.apply(type, nowMs).offerings.map(({ available }) => available);
    expect(availableAt(0)).toEqual([false]);
    expect(avoided.nextReturnMs(0)).toBe(3 * minute);
    expect(availableAt(3 * minute)).toEqual([true]);
    expect(avoided.nextReturnMs(3 * minute)).toBeUndefined();
  });
  test('changes the sequence exactly when something derived from it must change', () => {
    const avoided = new UnavailableOfferings(options);
    const steps = [
      () => avoided.fail(spot, 'x', 0),
      () => avoided.fail(spot, 'x', 1),
      () => avoided.succeed(spot),
      () => avoided.succeed(spot),
    ];
    const sequences = steps.map((step) => {
      step();
      return avoided.sequence;
    });
    expect(sequences).toEqual([1, 1, 2, 2]);
  });
});
