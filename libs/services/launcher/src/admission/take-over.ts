import { compareAdmissions } from '@dovetail/contracts';
import { annotations, type NodeClaim } from '@dovetail/core-api';
import { type Cluster, isUnpaired, livePromise } from '@dovetail/core-cluster';
import { compareText } from '@dovetail/core-kube-model';

import { parseAdmissionMark } from '../cluster/admission-mark.js';

const markOf = (claim: NodeClaim): ReturnType<typeof parseAdmissionMark> =>
  parseAdmissionMark(claim.annotations[annotations.admission]);

/** The claims without an instance: no other can be void, and a large cluster has few of them. */
const unpaired = ({ claims }: Cluster): readonly NodeClaim[] => claims.by('unpaired', 'unpaired');

/**
 * Claims that a deposed launcher made after its successor had listed them: of an older epoch,
 * without an instance, and not inherited. Their round is void, so they are deleted before they are
 * launched.
 */
export function lateClaims(
  cluster: Cluster,
  epoch: { readonly number: number; readonly inherited: ReadonlySet<string> },
): readonly NodeClaim[] {
  return unpaired(cluster).filter((claim) => isLate(claim, epoch));
}

/** Whether the claim is one of `lateClaims`. */
export function isLate(
  claim: NodeClaim,
  epoch: { readonly number: number; readonly inherited: ReadonlySet<string> },
): boolean {
  const mark = markOf(claim);
  return (
    mark !== undefined &&
    mark.admission.epoch < epoch.number &&
    !epoch.inherited.has(claim.uid) &&
    claim.deletionMs === undefined &&
    isUnpaired(claim)
  );
}

/** The claims that yield: of two that name one pod the later, unless it alone has an instance. */
export const yieldingClaims = (cluster: Cluster, nowMs: number): readonly NodeClaim[] =>
  unpaired(cluster)
    .filter((claim) => yields(cluster, claim, nowMs))
    .sort((a, b) => compareText(a.name, b.name));

/** Whether the claim is one of `yieldingClaims`. It costs the claim's own pods. */
export function yields(cluster: Cluster, claim: NodeClaim, nowMs: number): boolean {
  if (claim.deletionMs !== undefined || !isUnpaired(claim)) return false;
  const live = livePromise(cluster, claim.uid, nowMs);
  return (
    live?.waiting.some((pod) =>
      cluster.promises.holdersOf(pod.uid).some((holder) => {
        const other = cluster.claims.get(holder);
        return (
          other !== undefined &&
          other.uid !== claim.uid &&
          livePromise(cluster, holder, nowMs) !== undefined &&
          isEarlier(other, claim)
        );
      }),
    ) === true
  );
}

/**
 * By admission, then by age and name. A claim without an admission is no bin of ours and never
 * yields.
 */
function isEarlier(a: NodeClaim, b: NodeClaim): boolean {
  if (isUnpaired(a) !== isUnpaired(b)) return isUnpaired(b);
  const [first, second] = [markOf(a), markOf(b)];
  if (second === undefined) return false;
  const byAdmission =
    first === undefined ? -1 : compareAdmissions(first.admission, second.admission);
  return (byAdmission || a.createdMs - b.createdMs || compareText(a.name, b.name)) < 0;
}
