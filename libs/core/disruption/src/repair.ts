import { annotations } from '@dovetail/core-api';
import { compareText } from '@dovetail/core-kube-model';

import { type DisruptionNote, note } from './refusal.js';
import {
  brakeOf,
  type HealthCensus,
  healthCensus,
  type NodeHealth,
  unhealthySharePercent,
} from './repair-brake.js';
import { parseRetirement } from './retirement-record.js';
import { terminationDeadlineMs } from './termination.js';

/** A node that is unhealthy and ours. */
export type UnhealthyNode = Required<NodeHealth>;

/** The result of one look at the health of all nodes. */
export type RepairDecision = {
  /** Nodes to end or to replace now, with the reason. */
  readonly repair: readonly (UnhealthyNode & { readonly note: DisruptionNote })[];
  /** Nodes that are due and stay, because something holds them. */
  readonly blocked: readonly (UnhealthyNode & { readonly note: DisruptionNote })[];
  /** When the next node becomes due. Absent: no tolerated time runs. */
  readonly nextDueMs?: number;
};

/** Whether the node ends by force already: nothing would come earlier. */
function isForced({ node, claim }: UnhealthyNode, nowMs: number): boolean {
  const retirement = parseRetirement(node.annotations[annotations.retirement]);
  if (retirement !== undefined && (retirement.deadlineMs ?? Infinity) <= nowMs) return true;
  return claim.deletionMs !== undefined && (terminationDeadlineMs(claim) ?? Infinity) <= nowMs;
}

/** Why a node is repaired. */
export const reasonOf = ({ node, condition }: UnhealthyNode, nowMs: number): DisruptionNote => {
  const { type, status, sinceMs } = condition;
  const seconds = Math.floor((nowMs - sinceMs) / 1_000);
  return note('unhealthy', `${type} of ${node.name} has been ${status} for ${String(seconds)} s`, {
    condition: type,
    status,
    seconds,
  });
};

/** The note that holds back a repair, in Karpenter 1.14's words; undefined: the others are well. */
function blockOf({ claim }: UnhealthyNode, census: HealthCensus): DisruptionNote | undefined {
  const braked = brakeOf(claim, census);
  if (braked === undefined) return undefined;
  const { pool, ...counts } = braked;
  const where = pool === undefined ? 'cluster' : 'nodepool';
  const message = `more than ${String(unhealthySharePercent)}% nodes are unhealthy in the ${where}`;
  return note('repair-blocked', message, counts);
}

/** The nodes that are unhealthy and ours. */
export const unhealthyNodes = (nodes: readonly NodeHealth[]): readonly UnhealthyNode[] =>
  nodes.flatMap(({ node, claim, condition }) =>
    claim === undefined || condition === undefined ? [] : [{ node, claim, condition }],
  );

/**
 * Decides which nodes to repair by the method `legacy`: those that have been unhealthy for longer
 * than is tolerated. A repair asks no budgets, no PodDisruptionBudgets and no do-not-disrupt. It is
 * held back while more than a fifth of the pool's nodes are unhealthy, or of the cluster's for a
 * claim without a pool (Karpenter 1.14's node.health). The order of the nodes does not count.
 */
export function decideRepairs(nodes: readonly NodeHealth[], nowMs: number): RepairDecision {
  const census = healthCensus(nodes);
  const sick = unhealthyNodes(nodes)
    .filter((one) => !isForced(one, nowMs))
    .toSorted((a, b) => compareText(a.node.name, b.node.name));
  const due = sick.filter(({ condition }) => condition.dueMs <= nowMs);
  const nextDueMs = Math.min(
    ...sick.filter((one) => !due.includes(one)).map(({ condition }) => condition.dueMs),
  );
  const judged = due.map((one) => ({ one, block: blockOf(one, census) }));
  return {
    repair: judged.flatMap(({ one, block }) =>
      block === undefined ? [{ ...one, note: reasonOf(one, nowMs) }] : [],
    ),
    blocked: judged.flatMap(({ one, block }) =>
      block === undefined ? [] : [{ ...one, note: block }],
    ),
    ...(Number.isFinite(nextDueMs) ? { nextDueMs } : {}),
  };
}
