import type { NodeClaim } from '@dovetail/core-api';
import { type Cluster, instanceIdOf, typesOfClaim } from '@dovetail/core-cluster';
import { ownerOf } from '@dovetail/core-disruption';
import type { Clock, Instance, Instances } from '@dovetail/core-ports';

import type { ClusterWriter } from '../cluster/cluster-writer.js';
import type { ClassCatalog } from '../discovery/class-catalog.js';
import { launchedStatus } from '../launch/launched.js';
import { type StepOutcome, untilChanged, within } from './step.js';

/** The sources of the facts of a launch, and the writer of the status. */
export type LaunchStatusDeps = {
  readonly clock: Clock;
  readonly cloud: Instances;
  readonly cluster: Cluster;
  readonly writer: ClusterWriter;
  readonly catalog: ClassCatalog;
  /** Whether the launch loop works on the claim now. */
  readonly isLaunching: (claim: NodeClaim) => boolean;
};

/** The launch loop writes a status within milliseconds of its pairing. */
const launchingMs = 500;
/** A fresh instance may be missing from EC2's answers for some seconds. */
const unseenMs = 1_000;
/** A person has to delete the copy, or its original ends. */
const contestedMs = 60_000;

/**
 * The first step. The launch loop launches claims. A crash between its two writes leaves a claim
 * with an instance, but without the status of a launched one. This step then writes the status. A
 * copy of a claim (`kubectl get` and `apply`) looks the same. It is left as it is: the node is its
 * original's, and would go with the copy if it were registered as the copy's.
 */
export class LaunchStatus {
  readonly #deps: LaunchStatusDeps;

  constructor(deps: LaunchStatusDeps) {
    this.#deps = deps;
  }

  async take(claim: NodeClaim): Promise<StepOutcome> {
    if (claim.providerId !== undefined) return 'done';
    const id = instanceIdOf(claim);
    if (id === undefined) return 'stalled';
    const { isLaunching, cloud, catalog, cluster, writer, clock } = this.#deps;
    if (isLaunching(claim)) return within(launchingMs);
    const [instance] = await cloud.instancesById([id]);
    if (instance === undefined) return within(unseenMs);
    if (this.#isOfAnother(claim, instance)) return within(contestedMs);
    const type = typesOfClaim(catalog, cluster, claim).get(instance.instanceType);
    await writer.changeClaimStatus(claim, (now) =>
      launchedStatus(now, instance, type, clock.nowMs()),
    );
    return untilChanged;
  }

  #isOfAnother(claim: NodeClaim, { id, tags }: Instance): boolean {
    const rivals = this.#deps.cluster.claims
      .by('instance', id)
      .filter(({ uid }) => uid !== claim.uid);
    return ownerOf({ claim, rivals, tags }) !== claim;
  }
}
