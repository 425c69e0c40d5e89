import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';

import { AdmissionMemory } from './ledger.js';

const minute = 60_000;
const second = 1_000;

describe("the leader's memory", () => {
  test('counts the launches of a pool in the last minute, and of no other pool', () => {
    const memory = new AdmissionMemory();
    memory.launched('a', 0);
    memory.launched('a', 30 * second);
    memory.launched('b', 30 * second);
    const counts = [30 * second, minute - 1, minute, 90 * second];
    expect(counts.map((nowMs) => memory.launchesLastMinute('a', nowMs))).toEqual([2, 2, 1, 0]);
  });
  test.each([
    ['at once', 0, 'plan'],
    ['until the watches must have shown it', 10 * second - 1, 'plan'],
    ['not after that', 10 * second, undefined],
  ])('knows the plan that replaced a node %s', (_sentence, nowMs, planId) => {
    const memory = new AdmissionMemory();
    memory.replaced('node', 'plan', 0);
    expect(memory.replacedBy('node', nowMs)).toBe(planId);
    expect(memory.replacedBy('other', nowMs)).toBeUndefined();
  });
  test('knows the last admission that touched a group, whatever came before', () =>
    fc.assert(
      fc.property(
        fc.array(fc.subarray(['x', 'y', 'z']), { minLength: 1, maxLength: 8 }),
        (rounds) => {
          const memory = new AdmissionMemory();
          rounds.forEach((groups, number) => {
            memory.touch(groups, { epoch: 1, number }, `plan-${number}`);
          });
          for (const group of ['x', 'y', 'z']) {
            const last = rounds.findLastIndex((groups) => groups.includes(group));
            expect(memory.touched.get(group)?.admission.number).toBe(last < 0 ? undefined : last);
          }
        },
      ),
    ));
});
