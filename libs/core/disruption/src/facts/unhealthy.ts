import type { ConditionStatus } from '@dovetail/core-api';
import { compareText, recordOf } from '@dovetail/core-kube-model';

/**
 * How unhealthy nodes are repaired. `replace`: as by Karpenter 1.15, another node comes first, and
 * budgets hold. `legacy`: as by Karpenter 1.14, and 1.15 with `--legacy-node-repair`: by force.
 */
export type RepairMethod = 'replace' | 'legacy';

/** A condition of a node that means that it is unhealthy, and how long that is tolerated. */
type RepairPolicy = {
  readonly type: string;
  readonly status: ConditionStatus;
  /** The reasons that it is for. Absent: every other reason. */
  readonly reason?: RegExp;
  readonly tolerationMs: number;
  /** The longest drain of the node once its replacement is ready. Absent: it ends by force. */
  readonly drainMs?: number;
};

const minuteMs = 60_000;

/** All conditions but that of accelerators. The kubelet reports Ready, EKS' agent the others. */
const ofEveryReason = [
  { type: 'Ready', status: 'False', tolerationMs: 30 * minuteMs },
  { type: 'Ready', status: 'Unknown', tolerationMs: 30 * minuteMs },
  { type: 'StorageReady', status: 'False', tolerationMs: 30 * minuteMs },
  { type: 'NetworkingReady', status: 'False', tolerationMs: 30 * minuteMs },
  { type: 'KernelReady', status: 'False', tolerationMs: 30 * minuteMs },
  { type: 'ContainerRuntimeReady', status: 'False', tolerationMs: 30 * minuteMs },
] as const satisfies readonly RepairPolicy[];
const accelerators = { type: 'AcceleratedHardwareReady', status: 'False' } as const;

/** NVIDIA's codes of errors (Xid) after which a GPU does not come back by itself. */
const fatalXid = /XID(46|48|54|62|63|64|74|79|95|109|110|119|120|136|140|143|155|156|158)/;

/**
 * The policies of Karpenter's AWS provider (`RepairPolicies`), by method. 1.15 would reboot nodes
 * for some of the errors behind a gate; without the gate it replaces them, as here.
 */
const repairPolicies: Readonly<Record<RepairMethod, readonly RepairPolicy[]>> = {
  legacy: [...ofEveryReason, { ...accelerators, tolerationMs: 10 * minuteMs }],
  replace: [
    ...ofEveryReason.map((policy) => ({ ...policy, drainMs: 10 * minuteMs })),
    { ...accelerators, reason: fatalXid, tolerationMs: 10 * minuteMs, drainMs: 5 * minuteMs },
    { ...accelerators, tolerationMs: 30 * minuteMs, drainMs: 10 * minuteMs },
  ],
};

/** A condition of a node that matches a repair policy. Times are milliseconds since 1970. */
export type UnhealthyCondition = {
  readonly type: string;
  readonly status: ConditionStatus;
  /** Infinity: the condition has no time that can be read, so that it is never due. */
  readonly sinceMs: number;
  /** When the tolerated time ends. Invariant: sinceMs <= dueMs. */
  readonly dueMs: number;
  /** The longest drain once the replacement is ready. Absent: the node ends by force. */
  readonly drainMs?: number;
  /** The others for which the node is unhealthy, the soonest due first. Absent: none. */
  readonly others?: readonly Pick<UnhealthyCondition, 'dueMs' | 'drainMs'>[];
};

/**
 * The longest drain of a node that is unhealthy for these conditions: the shortest that one of them
 * asks for which is due by now (Karpenter's rule). Undefined: the node ends by force.
 */
export function drainLimitMs(
  { dueMs, drainMs, others = [] }: UnhealthyCondition,
  nowMs: number,
): number | undefined {
  if (drainMs === undefined) return undefined;
  const due = [{ dueMs, drainMs }, ...others].filter((one) => one.dueMs <= nowMs);
  return Math.min(drainMs, ...due.flatMap((one) => one.drainMs ?? []));
}

const soonestFirst = (a: UnhealthyCondition, b: UnhealthyCondition): number =>
  (a.dueMs === b.dueMs ? 0 : a.dueMs - b.dueMs) ||
  (a.drainMs ?? 0) - (b.drainMs ?? 0) ||
  compareText(a.type, b.type);

/** A time of an object in milliseconds since 1970; undefined when it is none. */
function timeMsOf(raw: unknown): number | undefined {
  const ms = Date.parse(typeof raw === 'string' ? raw : '');
  return Number.isNaN(ms) ? undefined : ms;
}

/**
 * Finds the unhealthy condition of a Node that ends its tolerated time first, as Karpenter does.
 * Undefined: the node is healthy. A condition without a time that can be read is never due, because
 * its time cannot be counted, but the node counts as unhealthy. With `replace` no time before the
 * node's counts.
 */
export function unhealthyConditionOf(
  rawNode: unknown,
  method: RepairMethod,
): UnhealthyCondition | undefined {
  const node = recordOf(rawNode);
  const { conditions } = recordOf(node['status']);
  const createdMs = timeMsOf(recordOf(node['metadata'])['creationTimestamp']) ?? 0;
  const held = Array.isArray(conditions) ? conditions.map(recordOf) : [];
  const found = held.flatMap(({ type, status, reason, lastTransitionTime }) => {
    const policy = repairPolicies[method].find(
      (one) =>
        one.type === type &&
        one.status === status &&
        one.reason?.test(typeof reason === 'string' ? reason : '') !== false,
    );
    if (policy === undefined) return [];
    const changedMs = timeMsOf(lastTransitionTime) ?? Infinity;
    const sinceMs = method === 'legacy' ? changedMs : Math.max(changedMs, createdMs);
    const { tolerationMs, reason: _reason, ...condition } = policy;
    return [{ ...condition, sinceMs, dueMs: sinceMs + tolerationMs }];
  });
  const [first, ...others] = found.sort(soonestFirst);
  return first === undefined || others.length === 0 ? first : { ...first, others };
}
