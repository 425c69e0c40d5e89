import type { Pod } from '@dovetail/core-kube-model';
import { drained, type ExistingNode, type Snapshot } from '@dovetail/core-scheduling';

import type { Candidate } from './candidates.js';

/** Whether the place of a pod may depend on pods of other nodes than its own. */
const isTied = (pod: Pod): boolean =>
  pod.topologySpread.length > 0 ||
  pod.requiredPodAffinity.length > 0 ||
  pod.requiredPodAntiAffinity.length > 0 ||
  pod.preferredPodAffinity.length > 0 ||
  pod.preferredPodAntiAffinity.length > 0 ||
  pod.volumes.length > 0;

/**
 * Whether plans must see all nodes. They need not if no rule counts pods over several nodes, and no
 * limit counts the nodes of a pool. Plans that see few nodes take less time.
 */
export const needsAllNodes = ({ nodes, pools }: Snapshot): boolean =>
  pools.some(({ pool }) => Object.keys(pool.limits).length > 0) ||
  nodes.some(({ pods, promisedPods }) => pods.some(isTied) || promisedPods.some(isTied));

/** The cluster with the nodes of a group drained. Nodes that are not `open` take no pods. */
export function without(
  snapshot: Snapshot,
  group: readonly Candidate[],
  {
    isOpen,
    needsAll,
  }: { readonly isOpen: (node: ExistingNode) => boolean; readonly needsAll: boolean },
): Snapshot {
  const out = new Set(group.map(({ view }) => view.node.uid));
  const seen = (node: ExistingNode): ExistingNode =>
    out.has(node.uid) ? drained(node) : isOpen(node) ? node : { ...node, cordoned: true };
  return {
    ...snapshot,
    nodes: needsAll
      ? snapshot.nodes.map(seen)
      : snapshot.nodes.filter((node) => !out.has(node.uid) && isOpen(node)),
  };
}
