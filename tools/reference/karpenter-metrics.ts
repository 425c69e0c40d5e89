import { readFileSync } from 'node:fs';

import { karpenterPanelRows } from '../dashboards/karpenter.js';
import type { KarpenterMetric } from './karpenter-source.js';
import { type Metric, metricsOf, shortened } from './metrics.js';

const karpenter = JSON.parse(
  readFileSync(new URL('karpenter-1.15-metrics.json', import.meta.url), 'utf8'),
) as readonly KarpenterMetric[];

const reboots = 'Dovetail repairs a node by replacing it, and reboots none';
const alphaTimes =
  'alpha in Karpenter: no service knows both when a pod was first planned and when it started';

/** Why a metric of Karpenter is missing, or is not the same, by the end of its name. */
const reasons: Readonly<Record<string, string>> = {
  build_info: 'its labels name the version of Go',
  cloudprovider_batcher_batch_size: 'the launcher asks EC2 by the fleet, not by the claim',
  cloudprovider_batcher_batch_time_seconds: 'the launcher asks EC2 by the fleet, not by the claim',
  cloudprovider_duration_seconds:
    "its labels name Karpenter's controllers; `dovetail_create_fleet_seconds` has the launches",
  cloudprovider_errors_total:
    "its labels name Karpenter's controllers; `dovetail_create_fleet_failures_total` has the launches",
  cluster_state_synced:
    'a service is not ready (`/readyz`) until its watches have shown everything',
  cluster_state_unsynced_time_seconds:
    'a service is not ready (`/readyz`) until its watches have shown everything',
  nodepools_cost_tracker_errors_total:
    'there is no tracker that can fail: prices are on the claims',
  nodes_reboot_duration_seconds: reboots,
  nodes_reboot_recovery_duration_seconds: reboots,
  nodes_reboots_total: reboots,
  nodes_total_daemon_limits: 'no service reads limits of pods',
  nodes_total_pod_limits: 'no service reads limits of pods',
  pod_deletion_cost_nodes_with_pending_annotation_writes:
    'Dovetail writes no deletion cost on pods',
  pod_deletion_cost_pod_annotation_writes_total: 'Dovetail writes no deletion cost on pods',
  pods_provisioning_bound_duration_seconds: alphaTimes,
  pods_provisioning_scheduling_undecided_time_seconds: alphaTimes,
  pods_provisioning_startup_duration_seconds: alphaTimes,
  pods_provisioning_unbound_time_seconds: alphaTimes,
  pods_provisioning_unstarted_time_seconds: alphaTimes,
  pods_scheduling_decision_duration_seconds: alphaTimes,
  scheduler_ignored_pods_count:
    'no pending pod is ignored: each that cannot be planned has a verdict with a code (`dovetail_pods_unschedulable_total`)',
  scheduler_pending_pods_by_effective_zone_count:
    'only solvers read the zones that a pod may have, and each batch may go to another solver; `dovetail_pending_pods` counts the pods',
  scheduler_queue_depth:
    'a plan is made for a batch at once; `dovetail_pending_pods` counts the pods that wait',
  scheduler_unfinished_work_seconds: 'a plan ends after a bounded time, with what it has found',
  scheduler_unschedulable_pods_count:
    'counted as verdicts, by reason: `dovetail_pods_unschedulable_total`',
  voluntary_disruption_decision_evaluation_duration_seconds:
    'one pass judges all nodes for all reasons, so it has no labels',
  voluntary_disruption_terminate_first_decisions_total:
    'Dovetail ends no node before its pods have another place, unless the node has a deadline',
};

/** Names as code. */
const shown = (names: readonly string[]): string => names.map((one) => `\`${one}\``).join(', ');

function rowOf({ name, kind, labels }: KarpenterMetric, ours: Metric | undefined): string {
  const key = name.replace(/^karpenter_/, '');
  const isSame = ours?.kind === kind && ours.labels.toSorted().join() === labels.toSorted().join();
  const reason = reasons[key];
  if (isSame && reason !== undefined) throw new Error(`${name} is the same: take its reason out`);
  if (!isSame && reason === undefined)
    throw new Error(`${name} is ${ours === undefined ? 'missing' : 'different'}: give a reason`);
  const here = isSame
    ? 'the same'
    : `${ours === undefined ? 'missing' : 'differs'}: ${reason ?? ''}`;
  return `| \`${name}\` | ${kind} | ${shortened(labels)} | ${here} |`;
}

/**
 * The page that compares Karpenter's metrics with those of the tables in these sources. Throws if a
 * metric is missing or different without a reason, or has a reason without need.
 */
export function karpenterMetricsPage(sources: readonly string[]): string {
  const ours = new Map(metricsOf(sources).map((metric) => [metric.name, metric]));
  const names = new Set(karpenter.map(({ name }) => name));
  for (const key of Object.keys(reasons))
    if (!names.has(`karpenter_${key}`)) throw new Error(`Karpenter has no metric ${key}`);
  const rows = karpenter.map((metric) => rowOf(metric, ours.get(metric.name)));
  const more = [...ours.keys()].filter((name) => name.startsWith('karpenter_') && !names.has(name));
  const same = rows.filter((row) => row.endsWith('| the same |')).length;
  const nodeLabels = karpenter.find(({ labels }) => labels.length > 20)?.labels ?? [];
  return `# Karpenter's metrics

Written by \`npm run reference\`; do not edit it by hand. It lists every metric that the sources of Karpenter 1.15.0 and of its AWS
provider register, and compares name, type and labels with [ours](metrics.md). Of ${rows.length}, ${same} are the same. The others say why.

Karpenter also serves metrics of its libraries: \`operator_*\` (conditions of objects), \`controller_runtime_*\`, \`workqueue_*\`,
\`rest_client_*\`, \`aws_sdk_go_*\`, \`go_*\` and \`process_*\`. Dovetail does not have those libraries, and serves only \`process_*\`.

Dovetail also has ${shown(more)}.
Karpenter 1.15 has no Provisioners, so it has no such metrics.

| name | type | labels | in Dovetail |
|---|---|---|---|
${rows.join('\n')}

## Labels of nodes

${shown(nodeLabels)}. \`nodes_current_lifetime_seconds\` is without \`resource_type\`.

## Karpenter's dashboards

Karpenter's documentation has two dashboards for Grafana. This table lists the metrics of their panels. A test scrapes a running lab
and sees that each metric below with *yes* has data with all of these labels. [Dovetail's own dashboards](../guides/dashboards.md)
have more.

| dashboard | panel | metric | labels | drawn |
|---|---|---|---|---|
${karpenterPanelRows().join('\n')}
`;
}
