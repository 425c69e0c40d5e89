import { annotations, type ConditionStatus, labels, type NodeClaim } from '@dovetail/core-api';
import { compareText, type Node, recordOf } from '@dovetail/core-kube-model';

import { type DisruptionNote, note } from './refusal.js';
import { parseRetirement } from './retirement-record.js';
import { terminationDeadlineMs } from './termination.js';

/** A condition of a node that means that it is unhealthy, and how long that is tolerated. */
type RepairPolicy = {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly tolerationMs: number;
};

const minuteMs = 60_000;

/**
 * The policies of Karpenter's AWS provider (`RepairPolicies`). The kubelet reports Ready. The EKS
 * node monitoring agent reports the others.
 */
const repairPolicies: readonly RepairPolicy[] = [
  { type: 'Ready', status: 'False', tolerationMs: 30 * minuteMs },
  { type: 'Ready', status: 'Unknown', tolerationMs: 30 * minuteMs },
  { type: 'AcceleratedHardwareReady', status: 'False', tolerationMs: 10 * minuteMs },
  { type: 'StorageReady', status: 'False', tolerationMs: 30 * minuteMs },
  { type: 'NetworkingReady', status: 'False', tolerationMs: 30 * minuteMs },
  { type: 'KernelReady', status: 'False', tolerationMs: 30 * minuteMs },
  { type: 'ContainerRuntimeReady', status: 'False', tolerationMs: 30 * minuteMs },
];

/** Karpenter repairs nothing while more than this share of a pool is unhealthy, rounded up. */
const unhealthySharePercent = 20;

/** A condition of a node that matches a repair policy. Times are milliseconds since 1970. */
export type UnhealthyCondition = {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly sinceMs: number;
  /** When the tolerated time ends. Invariant: sinceMs < dueMs. */
  readonly dueMs: number;
};

const soonestFirst = (a: UnhealthyCondition, b: UnhealthyCondition): number =>
  a.dueMs - b.dueMs || compareText(a.type, b.type);

/**
 * Finds the unhealthy condition of a Node that ends its tolerated time first, as Karpenter does.
 * Undefined: the node is healthy. A condition without a time, or that cannot be read, counts as
 * absent, because a repair is forced.
 */
export function unhealthyConditionOf(rawNode: unknown): UnhealthyCondition | undefined {
  const { conditions } = recordOf(recordOf(rawNode)['status']);
  const held = Array.isArray(conditions) ? conditions.map(recordOf) : [];
  const found = held.flatMap(({ type, status, lastTransitionTime }): UnhealthyCondition[] => {
    const policy = repairPolicies.find((one) => one.type === type && one.status === status);
    const sinceMs = Date.parse(typeof lastTransitionTime === 'string' ? lastTransitionTime : '');
    if (policy === undefined || Number.isNaN(sinceMs)) return [];
    const { tolerationMs, ...condition } = policy;
    return [{ ...condition, sinceMs, dueMs: sinceMs + tolerationMs }];
  });
  return found.sort(soonestFirst)[0];
}

/** A node of the cluster as repair reads it. */
export type NodeHealth = {
  readonly node: Node;
  /** The claim that the node came from. Absent: the node is not ours, and only counts. */
  readonly claim?: NodeClaim;
  /** Absent: the node is healthy. */
  readonly condition?: UnhealthyCondition;
};

/** A node that is unhealthy and ours. */
export type UnhealthyNode = Required<NodeHealth>;

/** The result of one look at the health of all nodes. */
export type RepairDecision = {
  /** Nodes to end now, by force, with the reason. */
  readonly repair: readonly (UnhealthyNode & { readonly note: DisruptionNote })[];
  /** Nodes that are due and stay, because too many others are unhealthy. */
  readonly blocked: readonly (UnhealthyNode & { readonly note: DisruptionNote })[];
  /** When the next node becomes due. Absent: no tolerated time runs. */
  readonly nextDueMs?: number;
};

/** The pool of a node or claim, by its label. Undefined: it has none. */
const poolLabelOf = ({ labels: held }: Pick<Node, 'labels'>): string | undefined => {
  const { [labels.nodePool]: nodePool, [labels.provisioner]: provisioner } = held;
  if (nodePool !== undefined) return `NodePool/${nodePool}`;
  return provisioner === undefined ? undefined : `Provisioner/${provisioner}`;
};

type Counted = { nodes: number; unhealthy: number };

/** Counts every node under its pool's label, and all nodes of the cluster under undefined. */
function countByPool(nodes: readonly NodeHealth[]): ReadonlyMap<string | undefined, Counted> {
  const counts = new Map<string | undefined, Counted>();
  for (const { node, condition } of nodes)
    for (const key of new Set([undefined, poolLabelOf(node)])) {
      const counted = counts.get(key) ?? { nodes: 0, unhealthy: 0 };
      counted.nodes += 1;
      if (condition !== undefined) counted.unhealthy += 1;
      counts.set(key, counted);
    }
  return counts;
}

/** Whether the node ends by force already: nothing would come earlier. */
function isForced({ node, claim }: UnhealthyNode, nowMs: number): boolean {
  const retirement = parseRetirement(node.annotations[annotations.retirement]);
  if (retirement !== undefined && (retirement.deadlineMs ?? Infinity) <= nowMs) return true;
  return claim.deletionMs !== undefined && (terminationDeadlineMs(claim) ?? Infinity) <= nowMs;
}

const reasonOf = ({ node, condition }: UnhealthyNode, nowMs: number): DisruptionNote => {
  const { type, status, sinceMs } = condition;
  const seconds = Math.floor((nowMs - sinceMs) / 1_000);
  return note('unhealthy', `${type} of ${node.name} has been ${status} for ${String(seconds)} s`, {
    condition: type,
    status,
    seconds,
  });
};

/** The note that holds back a repair, in Karpenter's words; undefined: the others are healthy. */
function blockOf(
  { claim }: UnhealthyNode,
  counts: ReadonlyMap<string | undefined, Counted>,
): DisruptionNote | undefined {
  const pool = poolLabelOf(claim);
  const { nodes, unhealthy } = counts.get(pool) ?? { nodes: 0, unhealthy: 0 };
  const allowed = Math.ceil((nodes * unhealthySharePercent) / 100);
  if (unhealthy <= allowed) return undefined;
  const where = pool === undefined ? 'cluster' : 'nodepool';
  const message = `more than ${String(unhealthySharePercent)}% nodes are unhealthy in the ${where}`;
  return note('repair-blocked', message, { nodes, unhealthy, allowed });
}

/**
 * Decides which nodes to repair: those that have been unhealthy for longer than is tolerated. A
 * repair asks no budgets, no PodDisruptionBudgets and no do-not-disrupt. It is held back while more
 * than a fifth of the pool's nodes are unhealthy, or of the cluster's for a claim without a pool
 * (Karpenter's node.health). The order of the nodes does not count.
 */
export function decideRepairs(nodes: readonly NodeHealth[], nowMs: number): RepairDecision {
  const counts = countByPool(nodes);
  const sick = nodes
    .flatMap(({ node, claim, condition }): UnhealthyNode[] =>
      claim === undefined || condition === undefined ? [] : [{ node, claim, condition }],
    )
    .filter((one) => !isForced(one, nowMs))
    .toSorted((a, b) => compareText(a.node.name, b.node.name));
  const due = sick.filter(({ condition }) => condition.dueMs <= nowMs);
  const nextDueMs = Math.min(
    ...sick.filter((one) => !due.includes(one)).map(({ condition }) => condition.dueMs),
  );
  const judged = due.map((one) => ({ one, block: blockOf(one, counts) }));
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
