import type { NodeClaim } from '@dovetail/core-api';
import { type Ownership, ownershipOf } from '@dovetail/core-disruption';
import type { StopSignal } from '@dovetail/core-ports';
import { aboutClaim } from '@dovetail/service-kit';

import type { ReaperContext } from '../context.js';
import { releaseClaim } from '../outside/claim-edits.js';
import type { ClusterIdentity } from '../outside/identity.js';

/** Tells whose an instance is before anything is done to it. */
export class Owners {
  readonly #context: ReaperContext;
  readonly #identity: ClusterIdentity;

  constructor(context: ReaperContext, identity: ClusterIdentity) {
    this.#context = context;
    this.#identity = identity;
  }

  /** Whether another claim names the same instance, as our watch shows it. */
  isContested(claim: NodeClaim, instanceId: string): boolean {
    return this.#rivalsOf(claim, instanceId).length > 0;
  }

  /**
   * Asks EC2 and decides. Another owner's instance is reported, and a mere copy of a claim is
   * released. Answers whether the claim may end the instance.
   */
  async mayEnd(claim: NodeClaim, instanceId: string, stop: StopSignal): Promise<boolean> {
    const shown = await this.#context.instances.shown(instanceId, stop);
    const ownership = ownershipOf({
      claim,
      instanceId,
      rivals: this.#rivalsOf(claim, instanceId),
      ...(shown === undefined ? {} : { tags: shown.tags }),
      clusterUid: await this.#identity.clusterUid(),
    });
    if (ownership.kind === 'own') return true;
    this.#report(claim, ownership);
    if (ownership.kind === 'of-another-claim') await releaseClaim(this.#context.deps.kube, claim);
    return false;
  }

  #rivalsOf({ uid }: NodeClaim, instanceId: string): readonly NodeClaim[] {
    return this.#context.cluster.claims.by('instance', instanceId).filter((one) => one.uid !== uid);
  }

  #report(claim: NodeClaim, { note }: Exclude<Ownership, { readonly kind: 'own' }>): void {
    const { deps, events } = this.#context;
    deps.log.error(note.code, note.message, { claim: claim.name, ...note.values });
    const about = aboutClaim(claim);
    events.record({ about, type: 'Warning', reason: 'InstanceNotEnded', message: note.message });
  }
}
