import { feedMetrics, kitMetrics, malformedMetrics } from '@dovetail/service-kit';

const counts = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000];

/** Every metric that pod-watcher writes, with its meaning and buckets. */
export const podWatcherMetrics: Readonly<
  Record<string, { readonly help: string; readonly buckets?: readonly number[] }>
> = {
  ...kitMetrics,
  ...malformedMetrics,
  ...feedMetrics,
  dovetail_batch_pods: { help: 'Pods in a batch', buckets: counts },
  dovetail_batches_total: { help: 'Batches of pending pods put in the queue' },
  dovetail_pending_pods: { help: 'Pods that wait for a place now' },
  dovetail_pods_unschedulable_total: {
    help: 'Verdicts that a pod fits nowhere, by the first reason code',
  },
  dovetail_state_backlog: { help: 'Objects whose newest state is still to be published' },
};
