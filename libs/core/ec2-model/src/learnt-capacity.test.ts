import type { Resources } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import { believedDifference, capacityDifference, withDifference } from './learnt-capacity.js';
import { plainTypeValue } from './testing/index.js';

const mebibyte = 1024 ** 2;
const limits = { vmMemoryOverheadPercent: 0.075 };
const memory = (mib: number): Resources => ({ memory: mib * mebibyte });
const room = (capacity: Resources, allocatable = capacity) => ({ capacity, allocatable });
const memoryLearnt = (plannedMib: number, reportedMib: number): number =>
  (capacityDifference(room(memory(plannedMib)), room(memory(reportedMib)), limits)?.capacity[
    'memory'
  ] ?? 0) / mebibyte;

const ofHosts = (count: number, mib: number): readonly number[] =>
  Array.from({ length: count }, () => mib);

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

  test.each([
    ['one node that holds more', [200], 200],
    ['the lesser of two nodes', [200, 100], 100],
    ['one that is as planned beside one that holds more', [200, 0], 0],
    ['one that holds a little less', [-100], -100],
    ['no single node that holds far less', [-4000], 0],
    ['no single node that holds far less than a hundred others', [...ofHosts(99, -20), -4000], -20],
    ['two nodes that hold far less: the second least', [-4000, -3000, 100], -3000],
    ['two that hold a tenth less', [-800, -800], -800],
  ])('is believed of %s', (_whom, reported, believed) => {
    const reports = reported.map((mib) => ({ capacity: memory(mib), allocatable: {} }));
    const planned = room(memory(8000));
    for (const each of [reports, reports.toReversed()])
      expect((believedDifference(planned, each).capacity['memory'] ?? 0) / mebibyte).toBe(believed);
  });

  test('is believed by resource', () => {
    const planned = room({ cpu: 4000, pods: 29 });
    const odd = { capacity: {}, allocatable: { cpu: -2000, pods: -2 } };
    const other = { capacity: {}, allocatable: { pods: -1 } };
    expect(believedDifference(planned, [odd, other]).allocatable).toEqual({ pods: -2 });
  });

  test('changes a type by it, and nothing falls below zero', () => {
    const type = plainTypeValue('m5.large', 2_000, {});
    const changed = withDifference(type, { capacity: {}, allocatable: { cpu: -9_000 } });
    expect(changed.allocatable['cpu']).toBe(0);
    expect(changed.capacity).toEqual(type.capacity);
  });
});
