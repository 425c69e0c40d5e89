import { type NodeClaim, poolKey } from '@dovetail/core-api';
import type { Cluster } from '@dovetail/core-cluster';
import type { Clock, Metrics } from '@dovetail/core-ports';
import {
  aboutClaim,
  type Again,
  claimFacts,
  conditionOf,
  countDisrupted,
  type Decisions,
  type EventRecorder,
  isTrue,
  type NewDecision,
} from '@dovetail/service-kit';

import { stepOf } from '../cluster/claim-trace.js';
import type { ClusterWriter } from '../cluster/cluster-writer.js';
import type { LifecycleConfig } from '../config.js';
import type { RegistrationHealth } from '../discovery/registration-health.js';

/** The means to give a claim up, and to tell of it. */
export type LivenessDeps = {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly writer: ClusterWriter;
  readonly decisions: Decisions;
  readonly events: EventRecorder;
  readonly cluster: Cluster;
  readonly health: Pick<RegistrationHealth, 'failed'>;
};

/**
 * A time limit in the life of a claim: the condition that it waits for, and its names to the
 * outside.
 */
type TimeLimit = {
  readonly condition: 'Launched' | 'Registered';
  readonly reasonCode: 'launch-timeout' | 'registration-timeout';
  readonly eventReason: string;
  /** Karpenter's value of the label `reason` on `karpenter_nodeclaims_disrupted_total`. */
  readonly metricReason: string;
};

/** Karpenter's words for an instance that did not become a node. */
const notRegistered = { reason: 'RegistrationFailed', message: 'Failed to register node' };

const launchLimit: TimeLimit = {
  condition: 'Launched',
  reasonCode: 'launch-timeout',
  eventReason: 'LaunchTimeout',
  metricReason: 'launch_timeout',
};
const registrationLimit: TimeLimit = {
  condition: 'Registered',
  reasonCode: 'registration-timeout',
  eventReason: 'RegistrationTimeout',
  metricReason: 'registration_timeout',
};

/**
 * Gives up claims that make no progress, as Karpenter's liveness does. A claim without an instance
 * and one whose node does not register have a time each. Their pods are planned again; the reaper
 * ends the instance.
 */
export class Liveness {
  readonly #deps: LivenessDeps;
  readonly #config: LifecycleConfig;

  constructor(deps: LivenessDeps, config: LifecycleConfig) {
    this.#deps = deps;
    this.#config = config;
  }

  /** Deletes a stalled claim whose time is over; otherwise answers when that will be. */
  async check(claim: NodeClaim): Promise<Again> {
    if (isTrue(claim.conditions, 'Registered')) return undefined;
    const isLaunched = claim.providerId !== undefined;
    const limit = isLaunched ? registrationLimit : launchLimit;
    const { launchTimeoutMs, registrationTimeoutMs } = this.#config;
    const timeoutMs = isLaunched ? registrationTimeoutMs : launchTimeoutMs;
    const launchedMs = conditionOf(claim.conditions, 'Launched')?.lastTransitionMs;
    const sinceMs = isLaunched ? (launchedMs ?? claim.createdMs) : claim.createdMs;
    const leftMs = sinceMs + timeoutMs - this.#deps.clock.nowMs();
    if (leftMs > 0) return { afterMs: leftMs };
    this.#report(claim, limit, timeoutMs);
    this.#noteFailure(claim, isLaunched);
    await this.#deps.writer.deleteClaim(claim);
    return undefined;
  }

  /** Counts against the pool's registration health, with Karpenter's reasons. */
  #noteFailure(claim: NodeClaim, isLaunched: boolean): void {
    const { cluster, health } = this.#deps;
    const pool = cluster.pools.one('key', poolKey(claim.pool));
    if (pool === undefined) return;
    const launch = conditionOf(claim.conditions, 'Launched');
    const { reason, message } =
      isLaunched || launch === undefined || launch.reason === '' ? notRegistered : launch;
    health.failed(pool.uid, { reason, message });
  }

  #report(claim: NodeClaim, limit: TimeLimit, timeoutMs: number): void {
    const { metrics, decisions, events } = this.#deps;
    const { condition, reasonCode, eventReason, metricReason } = limit;
    const cause = conditionOf(claim.conditions, condition)?.message ?? '';
    const message = `${claim.name} made no progress in ${timeoutMs / 1000} s (${metricReason}): ${cause}`;
    countDisrupted(metrics, claim, { reason: metricReason });
    const failed: NewDecision = {
      ...claimFacts(claim),
      id: `launch-failed/${claim.uid}/${metricReason}`,
      kind: 'launch-failed',
      summary: message,
      reasons: [{ code: reasonCode, message, values: { timeoutMs: String(timeoutMs) } }],
    };
    decisions.tell(failed, stepOf(claim, claim.providerId === undefined ? 'made' : 'Launched'));
    events.record({ about: aboutClaim(claim), type: 'Warning', reason: eventReason, message });
  }
}
