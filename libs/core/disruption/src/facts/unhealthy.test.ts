import { describe, expect, test } from 'vitest';

import { nowMs } from '../testing/objects.js';
import { drainLimitMs, unhealthyConditionOf } from './unhealthy.js';

const minutesAgo = (minutes: number): string => new Date(nowMs - minutes * 60_000).toISOString();
const rawNode = (...conditions: readonly object[]): object => ({ status: { conditions } });
const condition = (type: string, status: string, minutes: number): object => ({
  type,
  status,
  lastTransitionTime: minutesAgo(minutes),
});
/** How many minutes from now a node with these conditions is due; undefined: it is healthy. */
const dueIn = (raw: unknown): number | undefined => {
  const found = unhealthyConditionOf(raw, 'legacy');
  return found === undefined ? undefined : (found.dueMs - nowMs) / 60_000;
};

describe('by the old method, a node', () => {
  test.each<[string, object, number | undefined]>([
    [
      'whose type of condition no policy names is healthy',
      condition('Fake', 'False', 90),
      undefined,
    ],
    ['whose status no policy names is healthy', condition('Ready', 'True', 90), undefined],
    [
      'whose hardware may be ready is healthy',
      condition('AcceleratedHardwareReady', 'Unknown', 90),
      undefined,
    ],
    [
      'whose condition has no time is never due: its toleration cannot be counted',
      { type: 'Ready', status: 'False' },
      Infinity,
    ],
    [
      'whose condition has a time that is none is never due',
      { type: 'Ready', status: 'False', lastTransitionTime: 'soon' },
      Infinity,
    ],
    ['that is not Ready is tolerated for 30 minutes', condition('Ready', 'False', 10), 20],
    ['that is silent is tolerated for 30 minutes', condition('Ready', 'Unknown', 10), 20],
    [
      'with broken accelerators is tolerated for 10 minutes',
      condition('AcceleratedHardwareReady', 'False', 4),
      6,
    ],
    ['with broken storage is tolerated for 30 minutes', condition('StorageReady', 'False', 0), 30],
    [
      'with broken network is tolerated for 30 minutes',
      condition('NetworkingReady', 'False', 0),
      30,
    ],
    ['with a broken kernel is tolerated for 30 minutes', condition('KernelReady', 'False', 0), 30],
    [
      'with a broken container runtime is tolerated for 30 minutes',
      condition('ContainerRuntimeReady', 'False', 0),
      30,
    ],
  ])('%s', (_what, held, minutes) => expect(dueIn(rawNode(held))).toBe(minutes));

  test('that is unhealthy in two ways is due by the first of them', () => {
    const raw = rawNode(
      condition('Ready', 'False', 15),
      condition('AcceleratedHardwareReady', 'False', 1),
    );
    expect([dueIn(raw), unhealthyConditionOf(raw, 'legacy')?.type]).toEqual([
      9,
      'AcceleratedHardwareReady',
    ]);
  });

  test.each([undefined, {}, { status: { conditions: 'none' } }, { status: null }])(
    'that says %j of its conditions is healthy',
    (raw) => expect(unhealthyConditionOf(raw, 'legacy')).toBeUndefined(),
  );
});

describe('by the new method, a node', () => {
  const gpu = (reason: string, minutes: number): object => ({
    ...condition('AcceleratedHardwareReady', 'False', minutes),
    reason,
  });
  test.each<[string, object, number, number]>([
    ['that is not Ready is due after 30 minutes', condition('Ready', 'False', 10), 20, 10],
    ['with broken storage is due after 30 minutes', condition('StorageReady', 'False', 0), 30, 10],
    ['with a known GPU fault is due after 10 minutes', gpu('NvidiaXID79Error', 4), 6, 5],
    ['with another GPU fault is due after 30 minutes', gpu('DCGMError', 4), 26, 10],
    ['with a GPU fault without a reason is due after 30 minutes', gpu('', 4), 26, 10],
  ])('%s', (_what, held, minutes, drainMinutes) => {
    const found = unhealthyConditionOf(rawNode(held), 'replace');
    expect([(found?.dueMs ?? 0) - nowMs, found?.drainMs]).toEqual([
      minutes * 60_000,
      drainMinutes * 60_000,
    ]);
  });

  test('is not older than its Node object: a condition of before does not count for longer', () => {
    const raw = {
      metadata: { creationTimestamp: minutesAgo(5) },
      ...rawNode(condition('Ready', 'Unknown', 300)),
    };
    expect(((unhealthyConditionOf(raw, 'replace')?.dueMs ?? 0) - nowMs) / 60_000).toBe(25);
  });

  test.each<[string, readonly object[], number]>([
    ['of one fault drains as long as this one lets it', [gpu('NvidiaXID79Error', 11)], 5],
    [
      'of two faults that are due drains as long as the shorter lets it',
      [condition('Ready', 'False', 40), gpu('NvidiaXID79Error', 11)],
      5,
    ],
    [
      'of which the shorter is not due yet drains as long as the other lets it',
      [condition('Ready', 'False', 40), gpu('NvidiaXID79Error', 9)],
      10,
    ],
  ])('%s', (_what, held, minutes) => {
    const found = unhealthyConditionOf(rawNode(...held), 'replace');
    expect(found && drainLimitMs(found, nowMs)).toBe(minutes * 60_000);
  });
});
