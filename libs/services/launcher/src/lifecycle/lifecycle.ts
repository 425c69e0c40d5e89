import { type NodeClaim, terminationFinalizer } from '@dovetail/core-api';
import { type Cluster, isUnpaired } from '@dovetail/core-cluster';
import {
  type Clock,
  type Log,
  messageOf,
  type StopSignal,
  type Vitals,
} from '@dovetail/core-ports';
import { type Again, isTrue, withFinalizer, WorkQueue } from '@dovetail/service-kit';

import type { ClusterWriter } from '../cluster/cluster-writer.js';
import type { LauncherConfig } from '../config.js';
import type { Finalization } from './finalization.js';
import { Initialization, type InitializationDeps } from './initialization.js';
import { LaunchStatus, type LaunchStatusDeps } from './launch-status.js';
import { Liveness, type LivenessDeps } from './liveness.js';
import { Registration, type RegistrationDeps } from './registration.js';
import type { Step } from './step.js';

/** Everything that the steps of a claim from launch to its end need. */
export type LifecycleDeps = LaunchStatusDeps &
  RegistrationDeps &
  InitializationDeps &
  LivenessDeps & {
    readonly vitals: Vitals;
    readonly clock: Clock;
    readonly log: Log;
    readonly cluster: Cluster;
    readonly writer: ClusterWriter;
    readonly finalization: Finalization;
  };

/**
 * The first delay after a failed look, and the longest: Karpenter's lifecycle waits 1 s to 1 min.
 */
const [retryMs, retryMaxMs] = [250, 30_000];

/**
 * Takes each claim from launched to initialized in Karpenter's order: launch, registration,
 * initialization. Liveness checks a claim that is stalled on the way. Each look
 * reads claim and node as they are now, so a repeated look does no harm and a missed one only
 * delays.
 */
export class Lifecycle {
  readonly #deps: LifecycleDeps;
  readonly #queue: WorkQueue;
  readonly #steps: readonly Step[];
  readonly #liveness: Liveness;

  constructor(deps: LifecycleDeps, config: LauncherConfig) {
    this.#deps = deps;
    const launchStatus = new LaunchStatus(deps);
    const registration = new Registration(deps);
    const initialization = new Initialization(deps, config.admission);
    this.#steps = [
      (claim) => launchStatus.take(claim),
      (claim) => registration.take(claim),
      (claim) => initialization.take(claim),
    ];
    this.#liveness = new Liveness(deps, config.lifecycle);
    this.#queue = new WorkQueue({
      clock: deps.clock,
      concurrency: config.lifecycle.inParallel,
      retryMs,
      retryMaxMs,
      watch: { vitals: deps.vitals, name: 'claims' },
      onError: (uid, error, failures) =>
        deps.log.warn(
          'claim-not-reconciled',
          `a step of a claim failed: ${messageOf(error)}; trying again`,
          { claim: deps.cluster.claims.get(uid)?.name ?? uid, failures },
        ),
    });
  }

  /**
   * Works until `stop`: on every claim at first, then on each that changes, or whose node does.
   */
  async run(stop: StopSignal): Promise<void> {
    const { cluster } = this.#deps;
    const end = cluster.subscribe(({ kind, uid }) => {
      if (kind === 'claim' && uid !== '') this.#queue.add(uid);
      if (kind === 'node') this.#nodeChanged(uid);
    });
    for (const claim of cluster.claims.values()) this.#queue.add(claim.uid);
    await this.#queue.run((uid) => this.#look(uid), stop);
    end();
  }

  #nodeChanged(nodeUid: string): void {
    const { cluster } = this.#deps;
    const node = cluster.nodes.get(nodeUid);
    const claim = node === undefined ? undefined : cluster.claimOfNode(node);
    if (claim !== undefined && !isTrue(claim.conditions, 'Initialized')) this.#queue.add(claim.uid);
  }

  async #look(uid: string): Promise<Again> {
    const claim = this.#deps.cluster.claims.get(uid);
    if (claim === undefined) return undefined;
    if (claim.deletionMs !== undefined) return this.#leave(claim);
    await this.#keepFinalizer(claim);
    for (const step of this.#steps) {
      const outcome = await step(claim);
      if (outcome === 'stalled') return this.#liveness.check(claim);
      if (outcome !== 'done') return outcome.again;
    }
    return undefined;
  }

  /** A deleted claim without an instance is ours to let go; with one it is the reaper's. */
  #leave(claim: NodeClaim): Promise<Again> {
    return isUnpaired(claim) ? this.#deps.finalization.finalize(claim) : Promise.resolve(undefined);
  }

  async #keepFinalizer(claim: NodeClaim): Promise<void> {
    if (claim.finalizers.includes(terminationFinalizer)) return;
    await this.#deps.writer.changeClaim(claim, (now) =>
      now.deletionMs === undefined ? withFinalizer(now, terminationFinalizer) : undefined,
    );
  }
}
