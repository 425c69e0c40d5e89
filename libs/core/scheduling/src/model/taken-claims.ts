import { compareText, type Pod } from '@dovetail/core-kube-model';

import type { Snapshot } from '../snapshot.js';
import { holdsRoom } from './nodes.js';

const claimsOf = (pod: Pod): readonly string[] =>
  pod.volumes.map(({ claimName }) => `${pod.namespace}/${claimName}`);

/**
 * Returns the claim of a pod that only one pod may use (ReadWriteOncePod) and that another pod has
 * or gets; undefined if there is none. kube-scheduler binds no second pod to it. Of several pods to
 * place the oldest gets it. A running pod that is being deleted leaves it to its successor.
 */
export function takenClaims(
  pods: readonly Pod[],
  snapshot: Snapshot,
  moving: ReadonlySet<string>,
): (pod: Pod) => string | undefined {
  const single = new Set(
    snapshot.persistentVolumeClaims.flatMap((one) =>
      one.onePod === true ? [`${one.namespace}/${one.name}`] : [],
    ),
  );
  if (single.size === 0) return () => undefined;
  const users = new Map<string, string>();
  const give = (pod: Pod): void => {
    for (const claim of claimsOf(pod))
      if (single.has(claim) && !users.has(claim)) users.set(claim, pod.uid);
  };
  for (const { pods: running, promisedPods } of snapshot.nodes)
    for (const pod of [...running, ...promisedPods])
      if (holdsRoom(pod, moving) && pod.deletionMs === undefined) give(pod);
  for (const pod of pods.toSorted((a, b) => a.createdMs - b.createdMs || compareText(a.uid, b.uid)))
    give(pod);
  return (pod) => claimsOf(pod).find((claim) => (users.get(claim) ?? pod.uid) !== pod.uid);
}
