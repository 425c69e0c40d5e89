import { Cluster } from '@dovetail/core-cluster';
import type { Pod } from '@dovetail/core-kube-model';
import { podValue } from '@dovetail/core-kube-model/testing';
import { RecordingMetrics } from '@dovetail/sim-stage';
import { beforeEach, describe, expect, test } from 'vitest';

import { PodTimes } from './pod-times.js';

let cluster: Cluster;
let metrics: RecordingMetrics;
let times: PodTimes;
let nowMs: number;
let version: number;

const startup = (): number | undefined => metrics.value('karpenter_pods_startup_duration_seconds');
const bound = (): number | undefined => metrics.value('karpenter_pods_bound_duration_seconds');
const becomes = (over: Partial<Pod>): void => {
  version += 1;
  cluster.set('pod', podValue('p', { createdMs: 1_000, resourceVersion: `${version}`, ...over }));
};
const running = { nodeName: 'a', phase: 'Running' } as const;

beforeEach(() => {
  cluster = new Cluster();
  metrics = new RecordingMetrics();
  nowMs = 1_000;
  version = 0;
  times = new PodTimes({ clock: { nowMs: () => nowMs }, metrics, cluster });
});

describe('times of pods', () => {
  test('a pod is measured when it is bound, and when it is first ready', () => {
    times.begin();
    becomes({});
    expect([...times.unstarted]).toEqual(['p']);
    nowMs = 3_000;
    becomes({ nodeName: 'a' });
    nowMs = 6_000;
    becomes({ ...running, ready: true });
    expect([bound(), startup()]).toEqual([2, 5]);
    nowMs = 9_000;
    becomes({ ...running, ready: false });
    becomes({ ...running, ready: true });
    expect(metrics.samples).toHaveLength(2);
    expect([...times.unstarted]).toEqual([]);
  });

  test('a pod that was pending as the measuring began is measured', () => {
    becomes({});
    times.begin();
    nowMs = 2_000;
    becomes({ ...running, ready: true });
    expect(startup()).toBe(1);
  });

  test('a pod that was never seen pending is not measured', () => {
    times.begin();
    becomes({ ...running, ready: true });
    expect(metrics.samples).toEqual([]);
  });

  test.each<[string, () => void]>([
    ['has ended', () => becomes({ nodeName: 'a', phase: 'Failed' })],
    ['is gone', () => cluster.delete('pod', 'p')],
  ])('a pod that %s before it was ready no longer counts as starting', (_how, ends) => {
    times.begin();
    becomes({ nodeName: 'a' });
    ends();
    expect([...times.unstarted]).toEqual([]);
    expect(startup()).toBeUndefined();
  });

  test('a clock that is behind gives no negative time, and nothing is measured after the end', () => {
    const end = times.begin();
    becomes({});
    nowMs = 0;
    becomes({ nodeName: 'a' });
    expect(bound()).toBe(0);
    end();
    becomes({ ...running, ready: true });
    expect(startup()).toBeUndefined();
  });
});
