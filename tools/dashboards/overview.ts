import type { Dashboard } from './grafana.js';
import { increaseOf, ofPool, one, rateOf, sumOf } from './query.js';

/** The first look: whether it works, and how much there is of everything. */
export const overview: Dashboard = {
  name: 'overview',
  title: 'Overview',
  about: 'Nodes, pods that wait, money, and whether the services work.',
  rows: [
    {
      title: 'Now',
      panels: [
        {
          title: 'Pods that wait',
          about: 'Pods that wait for a place.',
          shape: 'stat',
          queries: [one('sum(dovetail_pending_pods)', 'pods')],
        },
        {
          title: 'Nodes',
          about: 'Launched nodes of the chosen pools, without those that are being given up.',
          shape: 'stat',
          queries: [
            one(`sum(karpenter_nodepools_usage{resource_type="nodes", ${ofPool}})`, 'nodes'),
          ],
        },
        {
          title: 'Price',
          about: 'US dollars an hour of the instances of the chosen pools.',
          shape: 'stat',
          unit: 'currencyUSD',
          queries: [one(`sum(karpenter_nodepools_cost_total{${ofPool}})`, 'an hour')],
        },
        {
          title: 'Leaders',
          about: 'Services that have a leader. It should be 3: pod-watcher, launcher and reaper.',
          shape: 'stat',
          queries: [one('sum(dovetail_leader)', 'leaders')],
        },
        {
          title: 'Hung loops',
          about: 'Loops with a turn that lasts longer than any healthy one. It should be 0.',
          shape: 'stat',
          queries: [one('sum(dovetail_hung_loops)', 'loops')],
        },
        {
          title: 'State to publish',
          about: 'Objects whose newest state the solvers do not have yet.',
          shape: 'stat',
          queries: [one('sum(dovetail_state_backlog)', 'objects')],
        },
      ],
    },
    {
      title: 'Pools',
      panels: [
        {
          title: 'Nodes by pool',
          about: 'Launched nodes of each pool, without those that are being given up.',
          queries: [
            sumOf('karpenter_nodepools_usage', ['nodepool'], `resource_type="nodes", ${ofPool}`),
          ],
        },
        {
          title: 'CPU by pool',
          about: 'Cores of the nodes of each pool.',
          queries: [
            sumOf('karpenter_nodepools_usage', ['nodepool'], `resource_type="cpu", ${ofPool}`),
          ],
        },
        {
          title: 'Use of nodes',
          about: 'Share of the resources of all nodes that pods request.',
          unit: 'percentunit',
          emptyUntil: 'there is a node, and with disableClusterStateObservability',
          queries: [
            one(
              'sum by (resource_type) (karpenter_cluster_utilization_percent) / 100',
              '{{resource_type}}',
            ),
          ],
        },
        {
          title: 'Share of limits',
          about: 'How much of its limits each pool has used up. At 1 it gets no further node.',
          unit: 'percentunit',
          emptyUntil: 'a pool has limits',
          queries: [
            one(
              `sum by (nodepool, resource_type) (karpenter_nodepools_usage{${ofPool}}) / sum by (nodepool, resource_type) (karpenter_nodepools_limit{${ofPool}})`,
              '{{nodepool}} {{resource_type}}',
            ),
          ],
        },
      ],
    },
    {
      title: 'Work',
      panels: [
        {
          title: 'Pods that wait',
          about: 'Pods that wait for a place. A line that does not come down needs a look.',
          queries: [one('sum(dovetail_pending_pods)', 'pods')],
        },
        {
          title: 'Nodes that come and go',
          about: 'NodeClaims made, nodes that joined, and nodes that ended.',
          emptyUntil: 'a node is launched',
          queries: [
            one(
              `sum(increase(karpenter_nodeclaims_created_total{${ofPool}}[$__rate_interval]))`,
              'claims made',
            ),
            one(
              `sum(increase(karpenter_nodes_created_total{${ofPool}}[$__rate_interval]))`,
              'joined',
            ),
            one(
              `sum(increase(karpenter_nodes_terminated_total{${ofPool}}[$__rate_interval]))`,
              'ended',
            ),
          ],
        },
        {
          title: 'Pods that fit nowhere',
          about: 'Verdicts that a pod fits on no node that may be launched, by reason code.',
          emptyUntil: 'a pod fits nowhere',
          queries: [increaseOf('dovetail_pods_unschedulable_total', ['reason'])],
        },
      ],
    },
    {
      title: 'Health',
      panels: [
        {
          title: 'Leaders',
          about: 'Whether each service has a leader. Two of one Lease would be a fault.',
          queries: [sumOf('dovetail_leader', ['lease'])],
        },
        {
          title: 'Event loop',
          about:
            'The longest time that a service could not react, and the part that its own work took.',
          unit: 's',
          queries: [
            one('max by (job, instance) (nodejs_eventloop_lag_max_seconds)', '{{instance}} waited'),
            one(
              'max by (job, instance) (dovetail_event_loop_held_max_seconds)',
              '{{instance}} worked',
            ),
          ],
        },
        {
          title: 'Memory',
          about: 'Share of the heap that each service may fill. An alert fires above 0.9.',
          unit: 'percentunit',
          queries: [one('max by (job, instance) (dovetail_heap_used_ratio)', '{{instance}}')],
        },
        {
          title: 'Calls to Kubernetes',
          about: 'Calls to the API server in a second, without watches.',
          unit: 'ops',
          queries: [rateOf('dovetail_kubernetes_calls_total', ['call'])],
        },
        {
          title: 'Failures',
          about: 'Calls that failed, by the name of the log line that has the details.',
          emptyUntil: 'a call to Kubernetes or NATS fails',
          queries: [
            increaseOf('dovetail_kubernetes_failures_total', ['reason']),
            increaseOf('dovetail_nats_failures_total', ['reason']),
          ],
        },
        {
          title: 'Watches begun again',
          about: 'Watches that failed and were begun again, by resource.',
          emptyUntil: 'a watch fails',
          queries: [increaseOf('dovetail_watch_errors_total', ['resource'])],
        },
      ],
    },
  ],
};
