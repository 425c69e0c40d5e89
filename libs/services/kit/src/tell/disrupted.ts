import { labels, type NodeClaim, type Pool } from '@dovetail/core-api';
import type { Metrics } from '@dovetail/core-ports';

/** `StorageReady` → `storage_ready`, as Karpenter's metrics write names. */
export const snakeCase = (name: string): string =>
  name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '_').toLowerCase();

/**
 * Karpenter's label `termination_mode`: by force without time for pods, in the end with a limit,
 * else gracefully. Undefined: there is no limit.
 */
export function terminationModeOf(graceMs: number | undefined): string {
  if (graceMs === undefined) return 'graceful';
  return graceMs <= 0 ? 'forceful' : 'eventual';
}

/** Why a claim ends, as metrics say it. */
export type DisruptedFor = {
  readonly reason: string;
  /** The policy of the pool whose consolidation ends it. Absent: something else does. */
  readonly policy?: Pool['disruption']['policy'] | undefined;
};

/** Counts a claim that is given up. Answers the labels, for the pods on its node. */
export function countDisrupted(
  metrics: Metrics,
  claim: NodeClaim,
  { reason, policy }: DisruptedFor,
): Readonly<Record<string, string>> {
  const counted = {
    reason,
    nodepool: claim.pool.name,
    capacity_type: claim.labels[labels.capacityType] ?? '',
    consolidation_policy: policy === undefined ? '' : snakeCase(policy),
    termination_mode: terminationModeOf(claim.terminationGracePeriodMs),
  };
  metrics.count('karpenter_nodeclaims_disrupted_total', counted);
  return counted;
}
