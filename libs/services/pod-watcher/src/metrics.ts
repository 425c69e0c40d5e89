import type { MetricDefinitions } from '@dovetail/core-ports';
import { feedMetrics, kubeMetrics, malformedMetrics } from '@dovetail/service-kit';

const counts = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000];

/** Every metric that pod-watcher writes, with its meaning and buckets. */
export const podWatcherMetrics: MetricDefinitions = {
  ...feedMetrics,
  ...kubeMetrics,
  ...malformedMetrics,
  dovetail_batch_pods: { kind: 'histogram', help: 'Pods in a batch', buckets: counts },
  dovetail_batches_total: { kind: 'counter', help: 'Batches of pending pods put in the queue' },
  dovetail_pending_pods: { kind: 'gauge', help: 'Pods that wait for a place now' },
  dovetail_pods_unschedulable_total: {
    kind: 'counter',
    labels: ['reason'],
    help: 'Verdicts that a pod fits nowhere, by the first reason code',
  },
  dovetail_stream_fill_ratio: {
    kind: 'gauge',
    labels: ['stream'],
    help: 'Share of the room of a stream that refuses messages when it is full (state, catalog), from 0 to 1',
  },
  dovetail_state_backlog: {
    kind: 'gauge',
    help: 'Objects whose newest state is still to be published',
  },
};
