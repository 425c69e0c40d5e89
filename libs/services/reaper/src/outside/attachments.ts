import { type VolumeAttachment, volumeAttachmentOf } from '@dovetail/core-kube-model';
import { type Clock, type KubeReads, kubeResources, type StopSignal } from '@dovetail/core-ports';
import { groupBy } from '@dovetail/service-kit';

import { Gathered } from './gathered.js';

/**
 * Volume attachments as the API server has them now. It lists only those of the whole cluster, so
 * the nodes that ask within a moment share one list.
 */
export class LiveAttachments {
  readonly #byNode: Gathered<ReadonlyMap<string, readonly VolumeAttachment[]>>;

  constructor(
    { kube, clock }: { readonly kube: Pick<KubeReads, 'list'>; readonly clock: Clock },
    gatherMs: number,
  ) {
    this.#byNode = new Gathered(clock, gatherMs, async () => {
      const objects = await kube.list(kubeResources.volumeAttachments);
      const attachments = objects.flatMap((object): readonly VolumeAttachment[] => {
        const parsed = volumeAttachmentOf(object);
        return parsed.ok ? [parsed.value] : [];
      });
      return groupBy(attachments, ({ nodeName }) => nodeName);
    });
  }

  /** Those on the node of this name. Rejects with KubeError. */
  async on(nodeName: string, stop: StopSignal): Promise<readonly VolumeAttachment[]> {
    return (await this.#byNode.ask(nodeName, stop)).get(nodeName) ?? [];
  }
}
