import { describe, expect, test } from 'vitest';

import { countingMetrics, recordingLog } from '../testing/outside.js';
import { UnreadableObjects } from './unreadable-objects.js';

const object = { kind: 'NodeClaim', name: 'c', uid: 'u' };
const failure = { field: 'spec.taints', value: '7', remedy: 'give a list' };

function stage() {
  const { log, lines } = recordingLog();
  const { metrics, counts } = countingMetrics();
  const unreadable = new UnreadableObjects({ log, metrics });
  const count = (): number => counts.get('dovetail_unreadable_objects_total') ?? 0;
  return { unreadable, lines, count };
}

describe('an object that cannot be read', () => {
  test('is named with field, value and remedy', () => {
    const { unreadable, lines, count } = stage();
    unreadable.report(object, failure);
    expect(lines).toEqual([
      {
        level: 'warn',
        name: 'object-unreadable',
        message: 'NodeClaim c: spec.taints is 7: give a list',
        fields: { kind: 'NodeClaim', name: 'c', field: 'spec.taints', value: '7' },
      },
    ]);
    expect([count(), unreadable.has('u'), [...unreadable.faults()]]).toEqual([
      1,
      true,
      [['u', 'spec.taints is 7: give a list']],
    ]);
  });

  test('is reported once per fault, however often it is seen', () => {
    const { unreadable, count } = stage();
    unreadable.report(object, failure);
    unreadable.report(object, failure);
    expect(count()).toBe(1);
    unreadable.report(object, { ...failure, value: '8' });
    expect(count()).toBe(2);
  });

  test('is reported again after it could be read', () => {
    const { unreadable, count } = stage();
    unreadable.report(object, failure);
    unreadable.forget('u');
    expect(unreadable.has('u')).toBe(false);
    unreadable.report(object, failure);
    expect(count()).toBe(2);
  });
});
