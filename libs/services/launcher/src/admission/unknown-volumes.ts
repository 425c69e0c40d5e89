import type { PlanMessage } from '@dovetail/contracts';
import { type Cluster, type ClusterKind, volumeKinds } from '@dovetail/core-cluster';
import type { Pod } from '@dovetail/core-kube-model';
import type { NewNode, Placement, Reason } from '@dovetail/core-scheduling';

import { type RefusedBin, refusedBin } from './judged.js';
import { reason } from './reason.js';

/** The kinds that say where volumes may go, of those whose first list is not complete. */
export const missingVolumeKinds = (cluster: Cluster): readonly ClusterKind[] =>
  volumeKinds.filter((kind) => !cluster.isSynced(kind));

/** Why a pod gets no node while these kinds are missing. Undefined if it mounts no volume. */
export function volumesUnknown(pod: Pod, missing: readonly ClusterKind[]): Reason | undefined {
  if (pod.volumes.length === 0 || missing.length === 0) return undefined;
  const kinds = missing.join(', ');
  const named = `${pod.namespace}/${pod.name}`;
  return reason(
    'volumes-unknown',
    `pod ${named} mounts volumes, and the first list of ${kinds} is not complete`,
    { podUid: pod.uid, pod: named, kinds },
    { remedy: `let the launcher list and watch ${kinds}, as the chart's ClusterRole does` },
  );
}

/**
 * Refuses a bin with a pod that mounts volumes while a kind that says where these may go has not
 * been listed. Such pods back off, and the other pods of the bin are planned again without them.
 */
export function refusedForVolumes(
  cluster: Cluster,
  message: PlanMessage,
  binId: string,
  bin: NewNode | Placement,
): RefusedBin | undefined {
  const missing = missingVolumeKinds(cluster);
  if (missing.length === 0) return undefined;
  const pods = bin.podUids.flatMap((uid) => cluster.pods.get(uid) ?? []);
  const reasons = pods.flatMap((pod) => volumesUnknown(pod, missing) ?? []);
  if (reasons.length === 0) return undefined;
  const refused = refusedBin(message, binId, bin, reasons);
  // The reaper asks for the pods of a replacement again by its own times.
  if (message.cause.kind === 'replacement') return refused;
  return { ...refused, heldPodUids: reasons.flatMap(({ values }) => values['podUid'] ?? []) };
}
