/** One metric of a panel of Karpenter's public dashboards. */
export type KarpenterPanel = {
  readonly dashboard: 'capacity' | 'performance';
  readonly panel: string;
  readonly metric: string;
  /** The labels that its query selects or groups by, or that its table shows. */
  readonly labels: readonly string[];
  /** Why Dovetail's metrics do not draw it. Absent: they do. */
  readonly notDrawn?: string;
};

const ofNodes = ['nodepool', 'zone', 'arch', 'capacity_type', 'instance_type'] as const;
const noReconcilers = 'Dovetail has no controller-runtime';

/** The rows of one metric in several panels of the capacity dashboard. */
const capacity = (
  metric: string,
  labels: readonly string[],
  panels: readonly string[],
  notDrawn?: string,
): readonly KarpenterPanel[] =>
  panels.map((panel) => ({
    dashboard: 'capacity',
    panel,
    metric,
    labels,
    ...(notDrawn === undefined ? {} : { notDrawn }),
  }));

/**
 * The two dashboards of Karpenter's documentation (karpenter-provider-aws, website of 1.14.1,
 * "Karpenter Capacity v1" and "Karpenter Performance v1"): which metrics with which labels each
 * panel asks for. Queries group by `cluster`, too, which an operator adds to what is scraped.
 */
export const karpenterPanels: readonly KarpenterPanel[] = [
  ...capacity('karpenter_nodes_created_total', ['nodepool'], ['Nodes Created by nodepool']),
  ...capacity('karpenter_nodes_terminated_total', ['nodepool'], ['Nodes Terminated by nodepool']),
  ...capacity(
    'karpenter_voluntary_disruption_eligible_nodes',
    ['reason'],
    ['Nodes Eligible for Disruptions by "reason"'],
  ),
  ...capacity(
    'karpenter_nodeclaims_disrupted_total',
    ['nodepool'],
    ['Node Disruptions by "$distribution_filter"'],
  ),
  ...capacity(
    'karpenter_voluntary_disruption_decisions_total',
    ['consolidation_type', 'decision'],
    ['Disruption Actions performed by "type" and "decision"'],
  ),
  ...capacity(
    'karpenter_pods_state',
    [...ofNodes, 'namespace', 'node', 'phase'],
    ['Pod Distribution by "$distribution_filter"', 'Pod Phase'],
  ),
  ...capacity('karpenter_nodepools_usage', ['nodepool', 'resource_type'], ['Nodepool Summary']),
  ...capacity('karpenter_nodepools_limit', ['nodepool', 'resource_type'], ['Nodepool Summary']),
  ...capacity(
    'karpenter_nodes_allocatable',
    [...ofNodes, 'resource_type'],
    ['the lists of values above', 'Nodepool Summary', 'Spot Node Percentage', 'Node Summary'],
  ),
  ...capacity(
    'karpenter_nodes_total_daemon_requests',
    [...ofNodes, 'resource_type'],
    ['Node Summary'],
  ),
  ...capacity(
    'karpenter_nodes_total_pod_requests',
    [...ofNodes, 'resource_type'],
    ['Node Summary'],
  ),
  ...capacity(
    'node_boot_time_seconds',
    ['node'],
    ['Node Summary'],
    "it is of Prometheus' node exporter",
  ),
  {
    dashboard: 'performance',
    panel: 'Node Termination Latency',
    metric: 'karpenter_nodes_termination_duration_seconds',
    labels: ['quantile'],
  },
  {
    dashboard: 'performance',
    panel: 'Pod Startup Latency',
    metric: 'karpenter_pods_startup_duration_seconds',
    labels: ['quantile'],
  },
  {
    dashboard: 'performance',
    panel: 'Controller Reconciliation Latency [$controller]',
    metric: 'controller_runtime_reconcile_time_seconds',
    labels: ['controller'],
    notDrawn: noReconcilers,
  },
  {
    dashboard: 'performance',
    panel: 'Controller Reconciliation Rate',
    metric: 'controller_runtime_reconcile_total',
    labels: ['controller'],
    notDrawn: noReconcilers,
  },
];

/** The table of the reference page. */
export const karpenterPanelRows = (): readonly string[] =>
  karpenterPanels.map(({ dashboard, panel, metric, labels, notDrawn }) => {
    const shown = labels.map((label) => `\`${label}\``).join(', ');
    const drawn = notDrawn === undefined ? 'yes' : `no: ${notDrawn}`;
    return `| ${dashboard} | ${panel} | \`${metric}\` | ${shown} | ${drawn} |`;
  });
