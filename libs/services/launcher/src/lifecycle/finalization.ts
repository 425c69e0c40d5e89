import { annotations, type NodeClaim, terminationFinalizer } from '@dovetail/core-api';
import { type Cluster, isUnpaired } from '@dovetail/core-cluster';
import type { Log } from '@dovetail/core-ports';
import { type Again, withoutFinalizer } from '@dovetail/service-kit';

import type { ClusterWriter } from '../cluster/cluster-writer.js';
import { intentIdOf } from '../launch/intent.js';
import type { LaunchedInstance } from '../launch/pairing.js';

/** The parts that `Finalization` works with. */
export type FinalizationDeps = {
  readonly log: Log;
  readonly cluster: Cluster;
  readonly writer: ClusterWriter;
  /** Whether nothing more comes of the claim's intent. */
  readonly isSettled: (claim: NodeClaim) => boolean;
  /** Instances that carry the intent's tag. Rejects with CloudError. */
  readonly lookUp: (intentId: string) => Promise<readonly LaunchedInstance[]>;
};

/**
 * How often a deleted claim asks whether its intent is settled: the launch loop settles it in
 * seconds.
 */
const waitMs = 1_000;

/**
 * Lets a claim go that was deleted before it had an instance. Its finalizer stays until its intent
 * is settled and no instance carries the intent's tag. An instance that turns up is paired with it,
 * and the reaper ends both. Claims with instances are the reaper's from the start.
 */
export class Finalization {
  readonly #deps: FinalizationDeps;

  constructor(deps: FinalizationDeps) {
    this.#deps = deps;
  }

  /**
   * Invariant: the claim is being deleted and has no instance. Rejects with CloudError or
   * KubeError.
   */
  async finalize(claim: NodeClaim): Promise<Again> {
    if (!this.#deps.isSettled(claim)) return { afterMs: waitMs };
    const instance = await this.#instanceOf(claim);
    if (instance === undefined) await this.#letGo(claim);
    else await this.#pair(claim, instance);
    return undefined;
  }

  /** An instance of the claim's intent that no other claim has. */
  async #instanceOf(claim: NodeClaim): Promise<LaunchedInstance | undefined> {
    const { cluster, lookUp } = this.#deps;
    const intentId = intentIdOf(claim);
    if (intentId === undefined) return undefined;
    const found = await lookUp(intentId);
    return found.find(({ id }) => cluster.claims.by('instance', id).length === 0);
  }

  async #pair(claim: NodeClaim, instance: LaunchedInstance): Promise<void> {
    this.#deps.log.warn(
      'instance-of-deleted-claim',
      'a deleted claim has an instance after all; the reaper ends both',
      { claim: claim.name, instance: instance.id },
    );
    await this.#deps.writer.changeClaim(claim, (now) =>
      isUnpaired(now)
        ? { metadata: { annotations: { [annotations.instanceId]: instance.id } } }
        : undefined,
    );
  }

  async #letGo(claim: NodeClaim): Promise<void> {
    await this.#deps.writer.changeClaim(claim, (now) =>
      isUnpaired(now) ? withoutFinalizer(now, terminationFinalizer) : undefined,
    );
  }
}
