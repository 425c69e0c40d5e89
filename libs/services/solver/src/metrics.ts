import type { MetricDefinitions } from '@dovetail/core-ports';
import { malformedMetrics, outboxMetrics } from '@dovetail/service-kit';

/**
 * Every metric that a solver writes, with its meaning and buckets. It has Karpenter's name if the
 * meaning is the same.
 */
export const solverMetrics: MetricDefinitions = {
  ...malformedMetrics,
  ...outboxMetrics,
  dovetail_solver_classes: {
    kind: 'histogram',
    help: 'Classes of pods in a plan',
    buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000],
  },
  dovetail_solver_failures_total: {
    kind: 'counter',
    help: 'Batches whose planning failed and that were given back',
  },
  dovetail_solver_gap_ratio: {
    kind: 'histogram',
    help: 'How far a plan costs above the best lower bound that was proven (0.1: 10 %), where there is one',
    buckets: [0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1],
  },
  dovetail_solver_gap_seconds: {
    kind: 'histogram',
    help: 'Time of one comparison with a plan from nothing, its proof and pending pods planned in between included',
  },
  dovetail_solver_queue_wait_seconds: {
    kind: 'histogram',
    labels: ['work'],
    help: 'From cutting a batch to a solver taking it, and from a request to its planning (by work)',
    known: [{ work: 'batch' }, { work: 'request' }],
  },
  dovetail_solver_records_total: {
    kind: 'counter',
    labels: ['outcome'],
    help: 'Plans whose input was to be kept (by outcome: kept, left-out when plans came faster than they could be written, failed)',
    known: [{ outcome: 'kept' }, { outcome: 'left-out' }, { outcome: 'failed' }],
  },
  dovetail_solver_search_seconds: {
    kind: 'histogram',
    help: 'Time of one search for nodes to give up, pending pods planned in between included',
  },
  dovetail_solver_unplaced_total: {
    kind: 'counter',
    labels: ['reason'],
    help: 'Pods that a plan leaves without a place, by the first reason code',
  },
  karpenter_scheduler_scheduling_duration_seconds: {
    kind: 'histogram',
    labels: ['controller'],
    known: [{ controller: 'provisioner' }, { controller: 'disruption' }],
    help: 'Time of one plan, for pending pods (provisioner) or for pods of nodes to give up (disruption)',
  },
};
