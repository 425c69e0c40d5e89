import { type VolumeAttachment, volumeAttachmentOf } from '@dovetail/core-kube-model';
import { type KubeReads, kubeResources, type StopSignal } from '@dovetail/core-ports';
import { Gathered, groupBy } from '@dovetail/service-kit';

import type { ReaperDeps } from '../deps.js';

type ByNode = Gathered<ReadonlyMap<string, readonly VolumeAttachment[]>>;

/**
 * Volume attachments as the API server has them now. It lists only those of the whole cluster, so
 * the nodes that ask within a moment share one list. Nodes with a deadline have a list of their
 * own, which overtakes other calls.
 */
export class LiveAttachments {
  readonly #byNode: ByNode;
  readonly #urgentByNode: ByNode;

  constructor(deps: Pick<ReaperDeps, 'kube' | 'urgentKube' | 'clock'>, gatherMs: number) {
    const { kube, urgentKube = kube, clock } = deps;
    this.#byNode = new Gathered(clock, gatherMs, () => listed(kube));
    this.#urgentByNode = new Gathered(clock, gatherMs, () => listed(urgentKube));
  }

  /** Those on the node of this name, which must be gone by `deadlineMs`. Rejects with KubeError. */
  async on(
    nodeName: string,
    deadlineMs: number | undefined,
    stop: StopSignal,
  ): Promise<readonly VolumeAttachment[]> {
    const byNode = deadlineMs === undefined ? this.#byNode : this.#urgentByNode;
    return (await byNode.ask(nodeName, stop)).get(nodeName) ?? [];
  }
}

async function listed(
  kube: Pick<KubeReads, 'list'>,
): Promise<ReadonlyMap<string, readonly VolumeAttachment[]>> {
  const objects = await kube.list(kubeResources.volumeAttachments);
  const attachments = objects.flatMap((object): readonly VolumeAttachment[] => {
    const parsed = volumeAttachmentOf(object);
    return parsed.ok ? [parsed.value] : [];
  });
  return groupBy(attachments, ({ nodeName }) => nodeName);
}
