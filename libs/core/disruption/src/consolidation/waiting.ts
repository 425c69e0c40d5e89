import type { Pod } from '@dovetail/core-kube-model';
import { placesOnExisting, type PlanOptions, type Snapshot } from '@dovetail/core-scheduling';

/** A cluster in which waiting pods keep the room that they fit in. */
export type WithRoomKept = {
  readonly snapshot: Snapshot;
  /** The UIDs of the nodes that waiting pods go to. */
  readonly nodeUids: ReadonlySet<string>;
};

/**
 * The snapshot with the waiting pods where they fit now, as promised ones. So a plan on it gives
 * their room to nobody else. Pods that fit on no node change nothing: what is bought for them is
 * not there yet. This takes no search, so its time is bounded by the size of the cluster: 50 ms
 * with 1,700 nodes and 5,000 waiting pods.
 */
export function keepingRoom(
  snapshot: Snapshot,
  waiting: readonly Pod[],
  options: PlanOptions,
): WithRoomKept {
  if (waiting.length === 0) return { snapshot, nodeUids: new Set() };
  const podOf = new Map(waiting.map((pod) => [pod.uid, pod]));
  const places = placesOnExisting(snapshot, waiting, { ...options, existingNodes: 'first-fit' });
  const arriving = new Map(places.map(({ nodeUid, podUids }) => [nodeUid, podUids]));
  const nodes = snapshot.nodes.map((node) => {
    const pods = (arriving.get(node.uid) ?? []).flatMap((uid) => podOf.get(uid) ?? []);
    return pods.length === 0 ? node : { ...node, promisedPods: [...node.promisedPods, ...pods] };
  });
  return { snapshot: { ...snapshot, nodes }, nodeUids: new Set(arriving.keys()) };
}
