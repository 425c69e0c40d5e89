import type { Dashboard } from './grafana.js';
import { increaseOf, ofPool, one, quantilesOf, sumOf } from './query.js';

/** From the batch of pods to the node that runs them. */
export const launches: Dashboard = {
  name: 'launches',
  title: 'Launches',
  about: 'From batches of pods to nodes that joined: how many, how fast, and why not.',
  rows: [
    {
      title: 'Plans',
      panels: [
        {
          title: 'Batches',
          about: 'Batches of pending pods that were put in the queue of the solvers.',
          queries: [increaseOf('dovetail_batches_total', [])],
        },
        {
          title: 'Bins judged',
          about: 'New nodes of plans, by whether the launcher admitted them, and the reason code.',
          queries: [increaseOf('dovetail_admission_bins_total', ['outcome', 'code'])],
        },
        {
          title: 'Time of a round',
          about: 'From taking plans to publishing their verdicts.',
          unit: 's',
          emptyUntil: 'a plan is judged',
          queries: quantilesOf('dovetail_admission_round_seconds'),
        },
      ],
    },
    {
      title: 'EC2',
      panels: [
        {
          title: 'Time of CreateFleet',
          about: 'How long a call of EC2 CreateFleet took, with the wait for a token.',
          unit: 's',
          emptyUntil: 'a fleet is asked for',
          queries: quantilesOf('dovetail_create_fleet_seconds'),
        },
        {
          title: 'CreateFleet failed',
          about: 'Calls that failed, by our code and that of AWS.',
          emptyUntil: 'EC2 refuses a fleet',
          queries: [increaseOf('dovetail_create_fleet_failures_total', ['code', 'aws_code'])],
        },
        {
          title: 'Offerings not sold',
          about: 'Offerings that a fleet could not launch. They are avoided for a while.',
          emptyUntil: 'EC2 has no capacity for an offering',
          queries: [
            increaseOf('karpenter_cloudprovider_instance_launch_failures_total', [
              'reason',
              'zone',
              'capacity_type',
            ]),
          ],
        },
        {
          title: 'Launched, by type',
          about: 'Instances launched, by type.',
          emptyUntil: 'an instance is launched',
          queries: [increaseOf('dovetail_instances_launched_total', ['instance_type'])],
        },
        {
          title: 'Launched, by zone',
          about: 'Instances launched, by zone.',
          emptyUntil: 'an instance is launched',
          queries: [increaseOf('dovetail_instances_launched_total', ['zone'])],
        },
        {
          title: 'Discovery failed',
          about: 'Questions to AWS about types, prices, images and networks that failed.',
          emptyUntil: 'AWS refuses such a question',
          queries: [increaseOf('dovetail_discovery_failures_total', ['what'])],
        },
      ],
    },
    {
      title: 'Nodes and pods',
      panels: [
        {
          title: 'Claims made',
          about: 'NodeClaims made, by pool and reason.',
          emptyUntil: 'a claim is made',
          queries: [
            increaseOf('karpenter_nodeclaims_created_total', ['nodepool', 'reason'], ofPool),
          ],
        },
        {
          title: 'Nodes that joined',
          about: 'Nodes that registered for a NodeClaim, by pool and zone.',
          emptyUntil: 'a node joins',
          queries: [increaseOf('karpenter_nodes_created_total', ['nodepool', 'zone'], ofPool)],
        },
        {
          title: 'Nodes that are overdue',
          about: 'Nodes that registered and did not become usable in 15 minutes.',
          emptyUntil: 'a node is overdue',
          queries: [increaseOf('dovetail_nodes_overdue_total', ['nodepool'], ofPool)],
        },
        {
          title: 'Pods of new nodes',
          about: 'Pods that were bound as planned, or could not be.',
          queries: [increaseOf('dovetail_placements_total', ['outcome'])],
        },
        {
          title: 'Start of pods',
          about: 'The time from the creation of a pod to its first being ready, over ten minutes.',
          unit: 's',
          emptyUntil: 'a pod starts, and with disableClusterStateObservability',
          queries: [0.5, 0.9, 1].map((quantile) =>
            one(
              `max(karpenter_pods_startup_duration_seconds{quantile="${quantile}"})`,
              `p${quantile * 100}`,
            ),
          ),
        },
        {
          title: 'Pools not usable',
          about: 'Times that a pool became unusable, by reason.',
          emptyUntil: 'a pool becomes unusable',
          queries: [increaseOf('dovetail_pools_not_usable_total', ['reason'])],
        },
        {
          title: 'Learnt memory',
          about:
            'Allocatable memory of nodes beyond what was planned of their type and image, as learnt.',
          unit: 'bytes',
          emptyUntil: 'the first node of a type and image joins',
          queries: [sumOf('dovetail_capacity_difference_bytes', ['instance_type', 'image_id'])],
        },
      ],
    },
  ],
};
