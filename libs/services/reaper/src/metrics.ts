import type { MetricDefinitions } from '@dovetail/core-ports';
import { disruptedMetrics, eventMetrics, kubeMetrics, outboxMetrics } from '@dovetail/service-kit';

import { observedMetrics } from './observe/metrics.js';

const minuteSeconds = 60;
const hourSeconds = 60 * minuteSeconds;
const daySeconds = 24 * hourSeconds;

/**
 * Every metric of the reaper with its help text: Karpenter's names where the meaning is the same,
 * `dovetail_*` for the rest.
 */
export const reaperMetrics: MetricDefinitions = {
  ...disruptedMetrics,
  ...eventMetrics,
  ...kubeMetrics,
  ...outboxMetrics,
  ...observedMetrics,
  karpenter_nodeclaims_unhealthy_disrupted_total: {
    kind: 'counter',
    labels: ['condition', 'nodepool', 'capacity_type', 'image_id', 'termination_mode'],
    help: 'NodeClaims that node repair ended, by condition, pool, capacity type, image and limit of the drain',
  },
  karpenter_nodeclaims_terminated_total: {
    kind: 'counter',
    labels: ['nodepool', 'capacity_type', 'zone'],
    help: 'NodeClaims whose instance is gone',
  },
  karpenter_nodeclaims_termination_duration_seconds: {
    kind: 'histogram',
    labels: ['nodepool'],
    help: 'From the deletion of a NodeClaim to the end of its finalizer',
  },
  karpenter_nodeclaims_instance_termination_duration_seconds: {
    kind: 'histogram',
    labels: ['nodepool'],
    help: 'From the call that ends an instance to EC2 saying that it is terminated',
  },
  karpenter_nodes_terminated_total: {
    kind: 'counter',
    labels: ['nodepool', 'zone'],
    help: 'Nodes that were ended',
  },
  karpenter_nodes_drained_total: {
    kind: 'counter',
    labels: ['nodepool'],
    help: 'Nodes that were drained',
  },
  karpenter_nodes_termination_duration_seconds: {
    kind: 'summary',
    labels: ['nodepool'],
    help: 'From the deletion of a node to the end of its finalizer',
  },
  karpenter_nodes_lifetime_duration_seconds: {
    kind: 'histogram',
    labels: ['nodepool'],
    help: 'From the creation of a node to its end',
    // Karpenter's.
    buckets: [
      ...[15, 30, 45].map((minutes) => minutes * minuteSeconds),
      ...[1, 2, 4, 6, 8, 10, 12, 16, 20].map((hours) => hours * hourSeconds),
      ...[1, 2, 3, 5, 10, 15, 20, 25, 30].map((days) => days * daySeconds),
    ],
  },
  karpenter_cloudprovider_instance_termination_failures_total: {
    kind: 'counter',
    labels: ['zone', 'zone_id'],
    help: 'Instances that EC2 refused to end, or did not answer for',
  },
  karpenter_nodepools_allowed_disruptions: {
    kind: 'gauge',
    labels: ['nodepool', 'reason'],
    help: 'How many more nodes of a pool may be disrupted now, by reason',
  },
  karpenter_nodepools_nodes_consuming_budgets: {
    kind: 'gauge',
    labels: ['nodepool', 'reason'],
    help: 'Nodes of a pool that use up its disruption budgets now, by reason',
  },
  karpenter_voluntary_disruption_decisions_total: {
    kind: 'counter',
    labels: ['decision', 'reason', 'consolidation_type'],
    help: 'Disruptions that were carried out, by decision (delete, replace), reason and kind of consolidation (empty, single, multi)',
  },
  karpenter_voluntary_disruption_decisions_by_nodepool_total: {
    kind: 'counter',
    labels: ['nodepool', 'decision', 'reason', 'consolidation_type'],
    help: 'The same by the pools of their nodes',
  },
  karpenter_voluntary_disruption_eligible_nodes: {
    kind: 'gauge',
    labels: ['reason'],
    help: 'Nodes that a method would disrupt now',
  },
  karpenter_voluntary_disruption_decision_evaluation_duration_seconds: {
    kind: 'histogram',
    help: 'How long a pass over all nodes took',
  },
  karpenter_voluntary_disruption_consolidation_timeouts_total: {
    kind: 'counter',
    labels: ['consolidation_type'],
    help: 'Searches for commands that ended because their time was over, by kind (single, multi)',
    known: [{ consolidation_type: 'single' }, { consolidation_type: 'multi' }],
  },
  karpenter_consolidation_moves_total: {
    kind: 'counter',
    labels: ['decision', 'nodepool', 'policy'],
    help: 'Moves that would save money, by pool, its policy, and whether it lets them be made (approved, rejected)',
  },
  karpenter_consolidation_score: {
    kind: 'histogram',
    labels: ['decision', 'nodepool', 'policy'],
    help: 'Scores of the same moves in pools with the policy Balanced, which approves from 0.5 on',
    buckets: [0.1, 0.25, 0.33, 0.5, 1, 2, 5, 10],
  },
  karpenter_voluntary_disruption_failed_validations_total: {
    kind: 'counter',
    labels: ['consolidation_type'],
    help: 'Commands that no longer held when they were judged again',
  },
  karpenter_voluntary_disruption_queue_failures_total: {
    kind: 'counter',
    labels: ['decision', 'reason', 'consolidation_type'],
    help: 'Disruptions that were given up after they had begun, by decision, reason and kind of consolidation',
  },
  karpenter_pods_disruption_initiated_total: {
    kind: 'counter',
    labels: ['reason', 'nodepool', 'capacity_type', 'consolidation_policy', 'termination_mode'],
    help: 'Pods that need another place because their node was disrupted, by what their node is counted by',
  },
  karpenter_pods_drained_total: {
    kind: 'counter',
    labels: ['reason'],
    help: 'Pods that were evicted or deleted as their node was drained, by the reason in their Event',
  },
  karpenter_pods_eviction_requests_total: {
    kind: 'counter',
    labels: ['code'],
    help: 'Evictions asked for, by the status code that came back',
  },
  karpenter_interruption_received_messages_total: {
    kind: 'counter',
    labels: ['message_type'],
    help: 'Messages from the interruption queue, by kind',
  },
  karpenter_interruption_deleted_messages_total: {
    kind: 'counter',
    help: 'Messages deleted from the interruption queue',
  },
  karpenter_interruption_message_queue_duration_seconds: {
    kind: 'histogram',
    help: 'How long a message was in the queue before it was dealt with',
  },
  karpenter_interruption_instance_status_unhealthy_total: {
    kind: 'counter',
    labels: ['category'],
    help: "Instances of claims that fail EC2's status checks or have an event scheduled, by category",
  },
  dovetail_interruption_foreign_total: {
    kind: 'counter',
    labels: ['what'],
    help: 'Interruption messages about another account, another region, or instances that are not ours',
  },
  dovetail_collected_total: {
    kind: 'counter',
    labels: ['what'],
    help: 'Instances without a claim and claims without an instance that were ended',
    known: [{ what: 'instance' }, { what: 'claim' }],
  },
  dovetail_collection_stopped: {
    kind: 'gauge',
    labels: ['brake'],
    help: '1 while collection is stopped by a brake, by the brake',
  },
  dovetail_terminations_capped_total: {
    kind: 'counter',
    help: 'Terminations put off by the cap per minute',
  },
  dovetail_whatif_total: {
    kind: 'counter',
    labels: ['outcome'],
    help: 'What-if requests to solvers, by outcome',
    known: [
      { outcome: 'planned' },
      { outcome: 'explored' },
      { outcome: 'searched' },
      { outcome: 'compared' },
    ],
  },
  dovetail_cluster_price_dollars: {
    kind: 'gauge',
    help: 'Price of the nodes with claims in US dollars an hour, as last compared with a plan from nothing; nodes of unknown price left out',
    atScrape: true,
  },
  dovetail_cluster_plan_dollars: {
    kind: 'gauge',
    help: 'Price of a plan from nothing for the pods of these nodes in US dollars an hour',
    atScrape: true,
  },
  dovetail_cluster_bound_dollars: {
    kind: 'gauge',
    help: 'Price in US dollars an hour that no plan from nothing for these pods can beat, as proven',
    atScrape: true,
  },
  dovetail_looks_failed_total: {
    kind: 'counter',
    help: 'Looks at a claim that failed and are repeated',
  },
  dovetail_loop_failures_total: {
    kind: 'counter',
    labels: ['loop'],
    help: 'Passes of a loop that failed and are repeated',
  },
  dovetail_clock_ahead_seconds: {
    kind: 'gauge',
    help: "How far the reaper's clock is ahead of the API server's for certain; behind: negative",
  },
};
