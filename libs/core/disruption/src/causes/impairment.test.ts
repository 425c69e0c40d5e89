import type { InstanceFinding } from '@dovetail/core-ec2-model';
import { describe, expect, test } from 'vitest';

import { impairmentsOf } from './impairment.js';

const nowMs = 1_000_000;
const failing = (kind: 'instance-check' | 'system-check', seconds: number): InstanceFinding => ({
  kind,
  sinceMs: nowMs - seconds * 1_000,
});
const event = (code: string): InstanceFinding => ({ kind: 'event', code });

describe('an instance', () => {
  test.each<[string, readonly InstanceFinding[], readonly string[]]>([
    [
      'whose check fails for less than two minutes is left alone',
      [failing('instance-check', 119)],
      [],
    ],
    [
      'whose own check fails for two minutes has no time',
      [failing('instance-check', 120)],
      ['instance_status now'],
    ],
    [
      'whose host’s check fails for two minutes has no time',
      [failing('system-check', 120)],
      ['system_status now'],
    ],
    [
      'with a scheduled event is retired without haste',
      [event('instance-retirement')],
      ['event_status at leisure'],
    ],
    [
      'with two scheduled events is retired once',
      [event('instance-retirement'), event('system-reboot')],
      ['event_status at leisure'],
    ],
    [
      'with a young failure and a scheduled event is retired for the event',
      [failing('system-check', 1), event('system-reboot')],
      ['event_status at leisure'],
    ],
    [
      'that fails in every way is told of in each',
      [event('instance-stop'), failing('system-check', 300), failing('instance-check', 200)],
      ['instance_status now', 'system_status now', 'event_status at leisure'],
    ],
  ])('%s', (_what, findings, expected) =>
    expect(
      impairmentsOf({ id: 'i-1', findings }, nowMs).map(
        ({ policy: { name, retire } }) =>
          `${name} ${retire?.deadlineMs === nowMs ? 'now' : 'at leisure'}`,
      ),
    ).toEqual(expected),
  );

  test('is told of by Karpenter’s Event and category', () =>
    expect(impairmentsOf({ id: 'i-1', findings: [failing('system-check', 300)] }, nowMs)).toEqual([
      {
        category: 'SystemStatus',
        policy: {
          event: 'InstanceUnhealthy',
          message: 'An unhealthy warning was triggered',
          name: 'system_status',
          type: 'Warning',
          retire: { deadlineMs: nowMs },
          avoidSpot: false,
          ending: false,
        },
        notice: { kind: 'system-check', timeMs: nowMs - 300_000 },
      },
    ]));
});
