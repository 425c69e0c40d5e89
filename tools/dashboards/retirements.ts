import type { Dashboard } from './grafana.js';
import { increaseOf, ofPool, one, quantilesOf, sumOf } from './query.js';

/** Why nodes go, how long it takes, and what holds them. */
export const retirements: Dashboard = {
  name: 'retirements',
  title: 'Retirements',
  about: 'Why nodes end, how long it takes, and which budgets hold them.',
  rows: [
    {
      title: 'Decisions',
      panels: [
        {
          title: 'Nodes that could go',
          about: 'Nodes that are due now, by reason. Budgets may hold them.',
          emptyUntil: 'the reaper has judged the nodes once',
          queries: [sumOf('karpenter_voluntary_disruption_eligible_nodes', ['reason'])],
        },
        {
          title: 'Disruptions',
          about: 'Disruptions that were carried out, by decision and reason.',
          emptyUntil: 'a node is disrupted',
          queries: [
            increaseOf('karpenter_voluntary_disruption_decisions_total', ['decision', 'reason']),
          ],
        },
        {
          title: 'Claims that were given up',
          about: 'NodeClaims that were disrupted, by pool and reason.',
          emptyUntil: 'a claim is given up',
          queries: [
            increaseOf('karpenter_nodeclaims_disrupted_total', ['nodepool', 'reason'], ofPool),
          ],
        },
        {
          title: 'Budgets',
          about: 'How many more nodes of each pool may be disrupted now, by reason.',
          emptyUntil: 'there is a pool',
          queries: [
            sumOf('karpenter_nodepools_allowed_disruptions', ['nodepool', 'reason'], ofPool),
          ],
        },
        {
          title: 'What-if questions',
          about: 'Questions to solvers whether pods would fit elsewhere, by outcome.',
          queries: [increaseOf('dovetail_whatif_total', ['outcome'])],
        },
        {
          title: 'Time of a pass',
          about: 'How long it takes to judge all nodes once.',
          unit: 's',
          emptyUntil: 'the reaper has judged the nodes once',
          queries: quantilesOf(
            'karpenter_voluntary_disruption_decision_evaluation_duration_seconds',
          ),
        },
      ],
    },
    {
      title: 'Ends',
      panels: [
        {
          title: 'Nodes that ended',
          about: 'Nodes that were ended, by pool and zone.',
          emptyUntil: 'a node ends',
          queries: [increaseOf('karpenter_nodes_terminated_total', ['nodepool', 'zone'], ofPool)],
        },
        {
          title: 'From deletion to end of nodes',
          about: 'The time from the deletion of a node to the end of its finalizer.',
          unit: 's',
          emptyUntil: 'a node ends',
          queries: [0.5, 0.9, 1].map((quantile) =>
            one(
              `max by (nodepool) (karpenter_nodes_termination_duration_seconds{quantile="${quantile}", ${ofPool}})`,
              `p${quantile * 100} {{nodepool}}`,
            ),
          ),
        },
        {
          title: 'From EC2 call to end of instances',
          about:
            'The time from the call that ends an instance to EC2 saying that it is terminated.',
          unit: 's',
          emptyUntil: 'a second instance of a pool ends',
          queries: quantilesOf('karpenter_nodeclaims_instance_termination_duration_seconds', {
            matchers: ofPool,
          }),
        },
        {
          title: 'Pods that need another place',
          about: 'Pods of nodes that were disrupted, by reason.',
          emptyUntil: 'a node with pods is disrupted',
          queries: [increaseOf('karpenter_pods_disruption_initiated_total', ['reason'], ofPool)],
        },
        {
          title: 'Evictions',
          about: 'Evictions asked for, by the status code that came back: 429 is a budget of pods.',
          emptyUntil: 'a pod is evicted',
          queries: [increaseOf('karpenter_pods_eviction_requests_total', ['code'])],
        },
        {
          title: 'Leftovers',
          about: 'Instances without a claim, and claims without an instance, that were ended.',
          queries: [increaseOf('dovetail_collected_total', ['what'])],
        },
      ],
    },
    {
      title: 'Interruptions',
      panels: [
        {
          title: 'Messages',
          about: 'Messages from the interruption queue, by kind.',
          emptyUntil: 'EC2 sends a message',
          queries: [increaseOf('karpenter_interruption_received_messages_total', ['message_type'])],
        },
        {
          title: 'Time in the queue',
          about: 'How long messages waited in the queue. A Spot instance has two minutes.',
          unit: 's',
          emptyUntil: 'EC2 sends a message',
          queries: quantilesOf('karpenter_interruption_message_queue_duration_seconds'),
        },
        {
          title: 'Loops of the reaper that fail',
          about: 'Passes of loops that failed and are repeated, by loop.',
          emptyUntil: 'a pass fails',
          queries: [increaseOf('dovetail_loop_failures_total', ['loop'])],
        },
      ],
    },
  ],
};
