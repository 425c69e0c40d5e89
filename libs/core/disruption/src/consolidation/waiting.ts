import type { Pod } from '@dovetail/core-kube-model';
import { plan, type PlanOptions, type Snapshot } from '@dovetail/core-scheduling';

/** A cluster in which waiting pods keep the room that they fit in. */
export type WithWaiting = {
  readonly snapshot: Snapshot;
  /** The UIDs of nodes that waiting pods go to. They are no candidates. */
  readonly promised: ReadonlySet<string>;
};

/** The cluster with the waiting pods where they fit. They keep their room from pods that move. */
export function withWaiting(
  snapshot: Snapshot,
  pods: readonly Pod[],
  options: PlanOptions,
): WithWaiting {
  if (pods.length === 0) return { snapshot, promised: new Set() };
  const byUid = new Map(pods.map((pod) => [pod.uid, pod]));
  const { placements } = plan(snapshot, pods, options);
  const arriving = new Map(placements.map(({ nodeUid, podUids }) => [nodeUid, podUids]));
  const nodes = snapshot.nodes.map((node) => {
    const uids = arriving.get(node.uid) ?? [];
    return uids.length === 0
      ? node
      : {
          ...node,
          promisedPods: [...node.promisedPods, ...uids.flatMap((uid) => byUid.get(uid) ?? [])],
        };
  });
  return { snapshot: { ...snapshot, nodes }, promised: new Set(arriving.keys()) };
}
