import { type CommandRecord, labels } from '@dovetail/core-api';
import {
  causeOf,
  type Command,
  isApproved,
  type NodeView,
  type PoolScore,
  type Retirement,
  shownCause,
} from '@dovetail/core-disruption';
import { isReschedulable } from '@dovetail/core-kube-model';
import type { Metrics } from '@dovetail/core-ports';
import {
  countDisrupted,
  type DisruptedFor,
  snakeCase,
  terminationModeOf,
} from '@dovetail/service-kit';

import type { ReaperCluster } from '../cluster/reaper-cluster.js';

type Cause = Retirement['cause'];

/** The causes that Karpenter counts as consolidation. */
const isConsolidation = (cause: Cause): boolean => cause === 'empty' || cause === 'underutilized';

/** Counts a claim that is given up, and the pods on its node that need another place. */
export function countEnded(metrics: Metrics, { claim, pods }: NodeView, why: DisruptedFor): void {
  const counted = countDisrupted(metrics, claim, why);
  const moving = pods.filter(isReschedulable).length;
  metrics.count('karpenter_pods_disruption_initiated_total', counted, moving);
}

/**
 * Counts a retirement that ends its node, and buys `newNodes` for its pods. A command of several
 * nodes is counted as one decision, by `countCommand`.
 */
export function countRetired(
  metrics: Metrics,
  view: NodeView,
  retirement: Retirement,
  newNodes: number,
): void {
  const { claim, pool } = view;
  const { cause, disruption } = retirement;
  const reason = shownCause(retirement);
  // Karpenter does not count the pods of an interruption, which is no choice.
  if (cause === 'interrupted') countDisrupted(metrics, claim, { reason });
  else
    countEnded(metrics, view, {
      reason,
      policy: isConsolidation(cause) ? pool?.disruption.policy : undefined,
    });
  if (cause === 'unhealthy') countRepair(metrics, view, retirement);
  if (causeOf(retirement).takesOver || disruption !== undefined) return;
  countDecision(metrics, [claim.pool.name], {
    decision: newNodes === 0 ? 'delete' : 'replace',
    reason: cause,
    consolidation_type: typeOf(cause, 1),
  });
}

function countRepair(
  metrics: Metrics,
  { claim }: NodeView,
  { cause, detail = cause, drainMs }: Retirement,
): void {
  const ownMs = claim.terminationGracePeriodMs;
  const graceMs = drainMs === undefined ? ownMs : Math.min(drainMs, ownMs ?? Infinity);
  metrics.count('karpenter_nodeclaims_unhealthy_disrupted_total', {
    condition: snakeCase(detail),
    nodepool: claim.pool.name,
    capacity_type: claim.labels[labels.capacityType] ?? '',
    image_id: claim.imageId ?? '',
    termination_mode: terminationModeOf(graceMs),
  });
}

/** A decision, as Karpenter's metrics name it. */
type Decided = {
  readonly decision: 'delete' | 'replace';
  readonly reason: Cause;
  readonly consolidation_type: string;
};

/** Karpenter's label `consolidation_type`: empty unless consolidation gives the nodes up. */
function typeOf(cause: Cause, nodes: number): string {
  if (cause === 'empty') return 'empty';
  if (cause !== 'underutilized') return '';
  return nodes > 1 ? 'multi' : 'single';
}

/** The decision of a command. Only consolidation writes resources of commands. */
const decidedBy = ({ planId, nodesOut }: CommandRecord): Decided => ({
  decision: planId === undefined ? 'delete' : 'replace',
  reason: 'underutilized',
  consolidation_type: typeOf('underutilized', nodesOut.length),
});

function countDecision(metrics: Metrics, pools: readonly string[], decided: Decided): void {
  for (const nodepool of new Set(pools))
    metrics.count('karpenter_voluntary_disruption_decisions_by_nodepool_total', {
      nodepool,
      ...decided,
    });
  metrics.count('karpenter_voluntary_disruption_decisions_total', decided);
}

/** Counts a command that ends its nodes, once for all of them. */
export function countCommand(
  metrics: Metrics,
  cluster: Pick<ReaperCluster, 'claims'>,
  record: CommandRecord,
): void {
  const pools = record.nodesOut.flatMap(
    ({ claimName }) => cluster.claims.one('name', claimName)?.pool.name ?? [],
  );
  countDecision(metrics, pools, decidedBy(record));
}

/** Counts how the pools of a command scored it when it was judged first. */
export function countScores(metrics: Metrics, scores: readonly PoolScore[]): void {
  for (const one of scores) {
    const labels = {
      decision: isApproved(one) ? 'approved' : 'rejected',
      nodepool: one.pool.identity.name,
      policy: one.pool.disruption.policy,
    };
    metrics.count('karpenter_consolidation_moves_total', labels);
    if (one.score !== undefined)
      metrics.observe('karpenter_consolidation_score', one.score, labels);
  }
}

/** Counts a search for commands of one node, or of several, that ran out of time. */
export const countTimeout = (metrics: Metrics, type: 'single' | 'multi'): void =>
  metrics.count('karpenter_voluntary_disruption_consolidation_timeouts_total', {
    consolidation_type: type,
  });

/** Counts a command that no longer stood at its second look. */
export const countOutdated = (metrics: Metrics, { nodesOut }: Pick<Command, 'nodesOut'>): void =>
  metrics.count('karpenter_voluntary_disruption_failed_validations_total', {
    consolidation_type: typeOf('underutilized', nodesOut.length),
  });

const failures = 'karpenter_voluntary_disruption_queue_failures_total';

/** Counts a command that is taken back, once for all of its nodes. */
export const countTakenBack = (metrics: Metrics, record: CommandRecord): void =>
  metrics.count(failures, decidedBy(record));

/** Counts a retirement that is given up. That of a command is counted with the command. */
export function countAbandoned(
  metrics: Metrics,
  { pods }: Pick<NodeView, 'pods'>,
  retirement: Retirement,
): void {
  const { cause, disruption } = retirement;
  if (disruption !== undefined) return;
  const isReplaced = causeOf(retirement).mayBuy && pods.some(isReschedulable);
  const decision = isReplaced ? 'replace' : 'delete';
  metrics.count(failures, { decision, reason: cause, consolidation_type: typeOf(cause, 1) });
}
