import type { Resources } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import { capacityDifference, leastDifference, withDifference } from './learnt-capacity.js';
import { plainTypeValue } from './testing/index.js';

const mebibyte = 1024 ** 2;
const limits = { vmMemoryOverheadPercent: 0.075 };
const memory = (mib: number): Resources => ({ memory: mib * mebibyte });
const room = (capacity: Resources, allocatable = capacity) => ({ capacity, allocatable });
const memoryLearnt = (plannedMib: number, reportedMib: number): number =>
  (capacityDifference(room(memory(plannedMib)), room(memory(reportedMib)), limits)?.capacity[
    'memory'
  ] ?? 0) / mebibyte;

describe('the difference of a node from its plan', () => {
  test.each([
    ['is nothing when it reports what was planned', 8000, 8000, 0],
    ['is nothing within the margin that hosts differ by', 8000, 8015, 0],
    ['is what it has more, less the margin', 8000, 8200, 184],
    ['is at most what was planned for the hypervisor', 8000, 16_000, 648],
    ['is all that it has less', 8000, 7900, -100],
    ['is at most the half, as a node with less is broken', 8000, 1000, -4000],
    ['is nothing while it reports none', 8000, 0, 0],
  ])('%s: planned %d MiB, reported %d MiB, learnt %d MiB', (_what, planned, reported, learnt) =>
    expect(memoryLearnt(planned, reported)).toBe(learnt),
  );

  test('lowers cpu, pods and storage and never raises them; devices are not learnt', () => {
    const planned = { cpu: 4000, pods: 29, 'ephemeral-storage': 1000 * mebibyte, gpu: 1 };
    const less = { cpu: 3900, pods: 20, 'ephemeral-storage': 990 * mebibyte, gpu: 0 };
    expect(capacityDifference(room(planned), room(less), limits)?.allocatable).toEqual({
      cpu: -100,
      pods: -9,
      'ephemeral-storage': -10 * mebibyte,
    });
    const more = { cpu: 8000, pods: 110, 'ephemeral-storage': 2000 * mebibyte, gpu: 8 };
    expect(capacityDifference(room(planned), room(more), limits)).toBeUndefined();
  });

  test('is the lesser of two nodes, by resource', () => {
    const a = { capacity: memory(10), allocatable: { cpu: -5 } };
    const b = { capacity: memory(20), allocatable: {} };
    expect(leastDifference(a, b)).toEqual({ capacity: memory(10), allocatable: { cpu: -5 } });
    expect(leastDifference(b, { capacity: {}, allocatable: {} }).capacity).toEqual({});
  });

  test('changes a type by it, and nothing falls below zero', () => {
    const type = plainTypeValue('m5.large', 2_000, {});
    const changed = withDifference(type, { capacity: {}, allocatable: { cpu: -9_000 } });
    expect(changed.allocatable['cpu']).toBe(0);
    expect(changed.capacity).toEqual(type.capacity);
  });
});
