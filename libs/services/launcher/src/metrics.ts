import type { MetricDefinitions } from '@dovetail/core-ports';
import {
  disruptedMetrics,
  eventMetrics,
  feedMetrics,
  kubeMetrics,
  malformedMetrics,
  outboxMetrics,
} from '@dovetail/service-kit';

/** Buckets of durations in seconds, for work that takes milliseconds to half a minute. */
const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30];

/**
 * Every metric of the launcher with its help text and buckets: Karpenter's names where the meaning
 * is the same.
 */
export const launcherMetrics: MetricDefinitions = {
  ...disruptedMetrics,
  ...eventMetrics,
  ...feedMetrics,
  ...kubeMetrics,
  ...malformedMetrics,
  ...outboxMetrics,
  dovetail_admission_round_seconds: {
    kind: 'histogram',
    help: 'Time from taking plans to publishing their verdicts',
    buckets: seconds,
  },
  dovetail_admission_bins_total: {
    kind: 'counter',
    labels: ['outcome', 'code'],
    help: 'Bins judged, by outcome and, for refusals, the first reason code',
    known: [{ outcome: 'admitted', code: '' }],
  },
  dovetail_pool_holds_total: {
    kind: 'counter',
    labels: ['pool'],
    help: 'Times that a pool was held because nodes of several types never became usable',
  },
  dovetail_pods_planned_alone_total: {
    kind: 'counter',
    labels: ['rule'],
    help: 'Times that a pod was held because the checker refused bins for it again, by the rule',
  },
  dovetail_pods_held_total: {
    kind: 'counter',
    help: 'Times that a pod got no further node, because those that were bought for it did not run it',
  },
  dovetail_pools_not_usable_total: {
    kind: 'counter',
    labels: ['reason'],
    help: 'Times that a pool became unusable, by reason',
  },
  dovetail_claims_voided_total: {
    kind: 'counter',
    help: 'Claims taken back: made by a deposed launcher, or naming pods that another claim names',
  },
  dovetail_claims_delayed_total: {
    kind: 'counter',
    help: 'NodeClaims that the API server asked to make later (429)',
  },
  dovetail_create_fleet_seconds: {
    kind: 'histogram',
    help: 'Duration of CreateFleet calls, with the wait for a token',
    buckets: seconds,
  },
  dovetail_create_fleet_failures_total: {
    kind: 'counter',
    labels: ['code', 'aws_code'],
    help: 'CreateFleet calls that failed, by code',
  },
  dovetail_instances_launched_total: {
    kind: 'counter',
    labels: ['instance_type', 'zone', 'capacity_type'],
    help: 'Instances launched, by type, zone and capacity type',
  },
  dovetail_placements_total: {
    kind: 'counter',
    labels: ['outcome'],
    help: 'Pods of bins: bound, broken (no longer fit), refused by the API server; and nodes that opened at their deadline',
    known: [
      { outcome: 'bound' },
      { outcome: 'broken' },
      { outcome: 'refused' },
      { outcome: 'deadline' },
    ],
  },
  dovetail_nodes_overdue_total: {
    kind: 'counter',
    labels: ['nodepool'],
    help: 'Nodes that registered and did not become usable in 15 min; their pods are planned again',
  },
  dovetail_capacity_difference_bytes: {
    kind: 'gauge',
    labels: ['instance_type', 'image_id'],
    help: 'Allocatable memory of nodes beyond what was planned of their type and image, as learnt',
  },
  dovetail_catalog_refused_total: {
    kind: 'counter',
    labels: ['code'],
    help: 'Catalogs of node classes that the bus refused for their size, by code',
  },
  dovetail_discovery_failures_total: {
    kind: 'counter',
    labels: ['what'],
    help: 'Discoveries that failed, by what was asked',
  },
  karpenter_nodeclaims_created_total: {
    kind: 'counter',
    labels: ['reason', 'nodepool', 'min_values_relaxed'],
    help: 'NodeClaims created, by reason and pool',
  },
  karpenter_nodes_created_total: {
    kind: 'counter',
    labels: ['nodepool', 'zone'],
    help: 'Nodes that joined for a NodeClaim, by pool and zone',
  },
  karpenter_cloudprovider_instance_launch_failures_total: {
    kind: 'counter',
    labels: ['zone', 'zone_id', 'capacity_type', 'reason'],
    help: 'Offerings that a fleet could not launch, by reason',
  },
  karpenter_cloudprovider_instance_type_cpu_cores: {
    kind: 'gauge',
    labels: ['instance_type'],
    help: 'Virtual CPUs of an instance type, of those that classes of pools can boot',
    atScrape: true,
  },
  karpenter_cloudprovider_instance_type_memory_bytes: {
    kind: 'gauge',
    labels: ['instance_type'],
    help: 'Memory of an instance type as EC2 names it, with the share of the hypervisor',
    atScrape: true,
  },
  karpenter_cloudprovider_instance_type_offering_available: {
    kind: 'gauge',
    labels: ['instance_type', 'capacity_type', 'zone'],
    help: '1 for an offering that may be launched now, 0 for one that is avoided or has no subnet or price',
    atScrape: true,
  },
  karpenter_cloudprovider_instance_type_offering_price_estimate: {
    kind: 'gauge',
    labels: ['instance_type', 'capacity_type', 'zone'],
    help: 'Price of an offering in US dollars an hour, as plans count it',
    atScrape: true,
  },
  karpenter_ec2nodeclasses_userdata_bytes: {
    kind: 'gauge',
    labels: ['nodeclass'],
    help: 'Size of the user data of a class in bytes, as rendered for the launch template that was made last. EC2 refuses more than 16384',
  },
  karpenter_nodepools_cost_total: {
    kind: 'gauge',
    labels: ['nodepool'],
    help: 'US dollars an hour of the instances of a pool, at the prices of their launch',
  },
  karpenter_nodepools_usage: {
    kind: 'gauge',
    labels: ['nodepool', 'resource_type'],
    help: 'Sum of the resources of the nodes of a pool, by resource: cpu in cores, memory and storage in bytes, nodes as a count',
  },
  karpenter_provisioner_usage: {
    kind: 'gauge',
    labels: ['provisioner', 'resource_type'],
    help: 'Sum of the resources of the nodes of a Provisioner, by resource',
  },
  karpenter_provisioner_limit: {
    kind: 'gauge',
    labels: ['provisioner', 'resource_type'],
    help: 'Limits of a Provisioner, by resource',
  },
  karpenter_nodepools_limit: {
    kind: 'gauge',
    labels: ['nodepool', 'resource_type'],
    help: 'Limits of a pool, by resource, in the units of its usage',
  },
};
