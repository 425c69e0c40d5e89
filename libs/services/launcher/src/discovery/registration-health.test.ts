import type { ConditionStatus } from '@dovetail/core-api';
import { describe, expect, test } from 'vitest';

import { RegistrationHealth } from './registration-health.js';

const failure = { reason: 'RegistrationFailed', message: 'Failed to register node' };

/** The status of the condition after these outcomes: `+` registered, `-` given up. */
function after(outcomes: string, held: ConditionStatus): ConditionStatus {
  const health = new RegistrationHealth();
  health.conditionOf('pool', { status: held }, false);
  for (const outcome of outcomes)
    if (outcome === '+') health.succeeded('pool');
    else health.failed('pool', failure);
  return health.conditionOf('pool', { status: held }, false)?.status ?? held;
}

describe('the registration health of a pool', () => {
  test.each<[string, string, ConditionStatus, ConditionStatus]>([
    ['stays unknown before the first outcome', '', 'Unknown', 'Unknown'],
    ['stays unknown after one failure', '-', 'Unknown', 'Unknown'],
    ['is true after one success', '+', 'Unknown', 'True'],
    ['is false after two failures', '--', 'Unknown', 'False'],
    ['is false after two failures around a success', '-+-', 'Unknown', 'False'],
    ['stays false while two of the last four are failures', '--++', 'Unknown', 'False'],
    ['is true again once one of the last four is a failure', '--+++', 'Unknown', 'True'],
    ['counts the last four only', '-+++-', 'Unknown', 'True'],
    ['stays true after one failure, also after a restart', '-', 'True', 'True'],
    ['is false after two failures, also after a restart', '--', 'True', 'False'],
    ['stays false after two successes, also after a restart', '++', 'False', 'False'],
    ['is true after three successes, also after a restart', '+++', 'False', 'True'],
  ])('%s', (_what, outcomes, held, expected) => expect(after(outcomes, held)).toBe(expected));

  test('is unknown for a pool that has no condition yet', () => {
    expect(new RegistrationHealth().conditionOf('pool', undefined, false)).toEqual({
      type: 'NodeRegistrationHealthy',
      status: 'Unknown',
      reason: 'AwaitingReconciliation',
      message: 'object is awaiting reconciliation',
    });
  });

  test('is unknown once pool or class have changed, and older failures do not count then', () => {
    const health = new RegistrationHealth();
    health.failed('pool', failure);
    health.failed('pool', failure);
    expect(health.conditionOf('pool', { status: 'False' }, true)).toMatchObject({
      status: 'Unknown',
    });
    health.failed('pool', failure);
    expect(health.conditionOf('pool', { status: 'Unknown' }, false)).toBeUndefined();
  });

  test('tells the failure that made it false, and not the next', () => {
    const health = new RegistrationHealth();
    health.failed('pool', failure);
    health.failed('pool', failure);
    health.failed('pool', { reason: 'LaunchFailed', message: 'no launch' });
    expect(health.conditionOf('pool', { status: 'Unknown' }, false)).toMatchObject(failure);
  });

  test('is counted for each pool by itself', () => {
    const health = new RegistrationHealth();
    health.failed('a', failure);
    health.failed('b', failure);
    expect(health.conditionOf('a', { status: 'True' }, false)).toBeUndefined();
  });
});
