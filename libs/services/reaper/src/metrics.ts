import { kitMetrics } from '@dovetail/service-kit';

/**
 * Every metric of the reaper with its help text: Karpenter's names where the meaning is the same,
 * `dovetail_*` for the rest.
 */
export const reaperMetrics: Readonly<Record<string, { readonly help: string }>> = {
  ...kitMetrics,
  karpenter_nodeclaims_disrupted_total: {
    help: 'NodeClaims that were disrupted, by reason, pool and capacity type.',
  },
  karpenter_nodeclaims_unhealthy_disrupted_total: {
    help: 'NodeClaims that node repair ended, by condition, pool, capacity type and image.',
  },
  karpenter_nodeclaims_terminated_total: { help: 'NodeClaims whose instance is gone.' },
  karpenter_nodeclaims_termination_duration_seconds: {
    help: 'From the deletion of a NodeClaim to the end of its finalizer.',
  },
  karpenter_nodeclaims_instance_termination_duration_seconds: {
    help: 'From the call that ends an instance to EC2 saying that it is terminated.',
  },
  karpenter_nodes_terminated_total: { help: 'Nodes that were ended.' },
  karpenter_nodes_drained_total: { help: 'Nodes that were drained.' },
  karpenter_nodes_termination_duration_seconds: {
    help: 'From the deletion of a node to the end of its finalizer.',
  },
  karpenter_nodepools_allowed_disruptions: {
    help: 'How many more nodes of a pool may be disrupted now, by reason.',
  },
  karpenter_voluntary_disruption_decisions_total: { help: 'Disruptions decided, by reason.' },
  karpenter_voluntary_disruption_eligible_nodes: { help: 'Nodes that a method would disrupt now.' },
  karpenter_voluntary_disruption_decision_evaluation_duration_seconds: {
    help: 'How long a pass over all nodes took.',
  },
  karpenter_voluntary_disruption_failed_validations_total: {
    help: 'Commands that no longer held when they were judged again.',
  },
  karpenter_voluntary_disruption_queue_failures_total: { help: 'Retirements that were given up.' },
  karpenter_pods_eviction_requests_total: {
    help: 'Evictions asked for, by the status code that came back.',
  },
  karpenter_interruption_received_messages_total: {
    help: 'Messages from the interruption queue, by kind.',
  },
  karpenter_interruption_deleted_messages_total: {
    help: 'Messages deleted from the interruption queue.',
  },
  karpenter_interruption_message_queue_duration_seconds: {
    help: 'How long a message was in the queue before it was dealt with.',
  },
  karpenter_interruption_instance_status_unhealthy_total: {
    help: "Instances of claims that fail EC2's status checks or have an event scheduled, by category.",
  },
  dovetail_interruption_foreign_total: {
    help: 'Interruption messages about another account, another region, or instances that are not ours.',
  },
  dovetail_collected_total: {
    help: 'Instances without a claim and claims without an instance that were ended.',
  },
  dovetail_collection_stopped: { help: '1 while collection is stopped by a brake, by the brake.' },
  dovetail_terminations_capped_total: { help: 'Terminations put off by the cap per minute.' },
  dovetail_whatif_total: { help: 'What-if requests to solvers, by outcome.' },
  dovetail_looks_failed_total: { help: 'Looks at a claim that failed and are repeated.' },
  dovetail_loop_failures_total: { help: 'Passes of a loop that failed and are repeated.' },
};
