import { type NodeClaim, tags } from '@dovetail/core-api';
import { instanceIdOf } from '@dovetail/core-cluster';
import type { Node } from '@dovetail/core-kube-model';
import {
  type Clock,
  CloudError,
  type InstanceTags,
  type Log,
  messageOf,
  type StopSignal,
  type Vitals,
} from '@dovetail/core-ports';
import { Wake } from '@dovetail/service-kit';

import { placeOfClaim } from '../cluster/claim-trace.js';
import type { ClusterWriter } from '../cluster/cluster-writer.js';

/** Karpenter's annotation of a claim whose instance carries the tags that name it. */
export const taggedAnnotation = 'karpenter.k8s.aws/tagged';
/**
 * EC2 throttles CreateTags for the account; one call a second leaves room for others (Karpenter's
 * pace).
 */
const paceMs = 1_000;
/** A call that lasts longer is hung: far over the minutes that all its retries take. */
const turnMsMax = 900_000;

/** The means to tag instances and to note on claims that it is done. */
export type InstanceTaggerDeps = {
  readonly cloud: InstanceTags;
  readonly clock: Clock;
  readonly log: Log;
  readonly vitals: Vitals;
  readonly writer: ClusterWriter;
};

/** Names instances after their nodes and claims, at a pace of its own: nothing waits for it. */
export class InstanceTagger {
  readonly #deps: InstanceTaggerDeps;
  readonly #wake: Wake;
  readonly #waiting = new Map<string, { readonly claim: NodeClaim; readonly node: Node }>();

  constructor(deps: InstanceTaggerDeps) {
    this.#deps = deps;
    this.#wake = new Wake(deps.clock);
  }

  /** Asks for the tags of the claim's instance, unless it carries them. */
  tag(claim: NodeClaim, node: Node): void {
    if (claim.annotations[taggedAnnotation] === 'true') return;
    this.#waiting.set(claim.uid, { claim, node });
    this.#wake.raise();
  }

  /** Tags one instance after the other, until `stop`. */
  async run(stop: StopSignal): Promise<void> {
    while (!stop.aborted) {
      await this.#wake.wait(stop);
      for (const [uid, { claim, node }] of this.#waiting) {
        if (stop.aborted) return;
        this.#waiting.delete(uid);
        const id = instanceIdOf(claim);
        if (id === undefined) continue;
        const { clock, vitals } = this.#deps;
        await vitals.turn('instance-tags', turnMsMax, () => this.#tagInstance(id, claim, node));
        await clock.sleep(paceMs, stop);
      }
    }
  }

  async #tagInstance(id: string, claim: NodeClaim, node: Node): Promise<void> {
    const { log, writer } = this.#deps;
    try {
      await this.#write(id, { Name: node.name, [tags.nodeClaim]: claim.name }, claim);
      await writer.changeClaim(claim, (now) =>
        now.annotations[taggedAnnotation] === 'true'
          ? undefined
          : { metadata: { annotations: { [taggedAnnotation]: 'true' } } },
      );
    } catch (error) {
      log.warn(
        'instance-not-tagged',
        `naming an instance after its node failed: ${messageOf(error)}; trying again when the claim changes`,
        { instance: id },
      );
    }
  }

  /**
   * Writes the names, and the id of the trace if the claim has one. A policy of an older release,
   * or of Karpenter, does not allow that tag: names are then written without it.
   */
  async #write(
    id: string,
    names: Readonly<Record<string, string>>,
    claim: NodeClaim,
  ): Promise<void> {
    const { cloud, log } = this.#deps;
    const place = placeOfClaim(claim);
    if (place === undefined) return cloud.tagInstances([id], names);
    try {
      await cloud.tagInstances([id], { ...names, [tags.traceId]: place.traceId });
    } catch (error) {
      if (!(error instanceof CloudError) || error.code !== 'denied') throw error;
      const message = `AWS does not let the launcher write the tag ${tags.traceId}: ${error.message}; allow it as deploy/iam/launcher.json does`;
      log.warn('trace-not-tagged', message, { instance: id });
      await cloud.tagInstances([id], names);
    }
  }
}
