import type { Buckets } from './gate.js';

/** How fast and how strict the twin is. Times in milliseconds of the twin. */
export type CloudSettings = {
  /** A fresh instance is missing from every read by id or filter for so long, as EC2's eventual consistency has it. */
  readonly consistencyMs: number;
  /** A fresh launch template is unknown to CreateFleet for so long. */
  readonly launchTemplateConsistencyMs: number;
  /** A fresh instance profile is unknown to EC2 for so long (in life some ten seconds). */
  readonly profileConsistencyMs: number;
  /** From launch to `running`. */
  readonly runningDelayMs: number;
  /** From launch to the moment the kubelet would contact the API server (in life some thirty seconds). */
  readonly bootDelayMs: number;
  /** From `shutting-down` to `terminated`. */
  readonly shutdownDelayMs: number;
  /** How long a terminated instance can still be described; EC2 keeps it for about an hour. */
  readonly terminatedVisibleMs: number;
  /** From a Spot interruption warning to the end of the instance. */
  readonly interruptionNoticeMs: number;
  /** How long the queue keeps a message. */
  readonly queueRetentionMs: number;
  /** Token buckets per API action, or none at all. */
  readonly limits: Buckets | 'none';
  /** Most overrides in one CreateFleet request. */
  readonly overridesPerFleetMax: number;
  /** vCPUs that may run at once per capacity type (Service Quotas); unlimited when left out. */
  readonly vcpuQuota: { readonly onDemand?: number; readonly spot?: number };
};
