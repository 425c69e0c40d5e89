import { annotations, tags, type NodeClaim } from '@dovetail/core-api';
import type { Node } from '@dovetail/core-kube-model';
import type { Clock, Cloud, Log, StopSignal } from '@dovetail/core-ports';
import { Latch } from '../loop/latch.js';
import type { Writer } from '../world/writer.js';

/** On a claim: its instance carries the tags that name it. Karpenter's annotation. */
const taggedAnnotation = 'karpenter.k8s.aws/tagged';
/** EC2 limits CreateTags for the account; one call a second leaves room for everything else (Karpenter's pace). */
const paceMs = 1_000;

/** Names instances after their nodes and claims, at a pace of its own: nobody waits for it. */
export class Tagging {
  readonly #deps: { readonly cloud: Cloud; readonly clock: Clock; readonly log: Log; readonly writer: Writer };
  readonly #waiting = new Map<string, { readonly claim: NodeClaim; readonly node: Node }>();
  readonly #latch = new Latch();

  constructor(deps: { readonly cloud: Cloud; readonly clock: Clock; readonly log: Log; readonly writer: Writer }) { this.#deps = deps; }

  tag(claim: NodeClaim, node: Node): void {
    if (claim.annotations[taggedAnnotation] === 'true') return;
    this.#waiting.set(claim.uid, { claim, node });
    this.#latch.raise();
  }

  async run(stop: StopSignal): Promise<void> {
    const { cloud, clock, log, writer } = this.#deps;
    while (!stop.aborted) {
      await this.#latch.wait(stop);
      for (const [uid, { claim, node }] of this.#waiting) {
        if (stop.aborted) return;
        this.#waiting.delete(uid);
        const id = claim.annotations[annotations.instanceId] ?? claim.providerId?.split('/').at(-1);
        if (id === undefined) continue;
        try {
          await cloud.tagInstances([id], { Name: node.name, [tags.nodeClaim]: claim.name });
          await writer.changeClaim(claim, (now) => (now.annotations[taggedAnnotation] === 'true' ? undefined : { metadata: { annotations: { [taggedAnnotation]: 'true' } } }));
        } catch (error) {
          log.warn('instance-not-tagged', 'an instance could not be named after its node, it is tried again with the claim\'s next change', { instance: id, error: String(error) });
        }
        await clock.sleep(paceMs, stop);
      }
    }
  }
}
