import type { Buckets } from './gate.js';

/** The delays and limits of the twin. Times are in milliseconds of the twin. */
export type CloudSettings = {
  /**
   * A new instance is missing from reads by id or filter for this long: EC2's eventual consistency.
   */
  readonly consistencyMs: number;
  /** A new launch template is unknown to CreateFleet for this long. */
  readonly launchTemplateConsistencyMs: number;
  /** A new instance profile is unknown to EC2 for this long (on AWS about ten seconds). */
  readonly profileConsistencyMs: number;
  /** From launch to `running`. */
  readonly runningDelayMs: number;
  /** From launch until the kubelet would contact the API server (on AWS about thirty seconds). */
  readonly bootDelayMs: number;
  /** From `shutting-down` to `terminated`. */
  readonly shutdownDelayMs: number;
  /** A terminated instance can be described for this long (on AWS about an hour). */
  readonly terminatedVisibleMs: number;
  /** From a Spot interruption warning to the end of the instance. */
  readonly interruptionNoticeMs: number;
  /** The queue keeps a message for this long. */
  readonly queueRetentionMs: number;
  /** Token buckets per API action, or none at all. */
  readonly limits: Buckets | 'none';
  /** The most overrides in one CreateFleet request. */
  readonly overridesPerFleetMax: number;
  /** The vCPUs that may run at once per capacity type (Service Quotas). Default: unlimited. */
  readonly vcpuQuota: { readonly onDemand?: number; readonly spot?: number };
};
