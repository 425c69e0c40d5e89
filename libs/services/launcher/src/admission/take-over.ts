import { annotations, type NodeClaim } from '@dovetail/core-api';
import { compareAdmissions } from '@dovetail/contracts';
import { isUnpaired } from '../launch/intent.js';
import { livePromise } from '../world/promises.js';
import type { World } from '../world/world.js';
import { parseAdmissionMark } from './number.js';

const markOf = (claim: NodeClaim): ReturnType<typeof parseAdmissionMark> => parseAdmissionMark(claim.annotations[annotations.admission]);

/**
 * Claims that a deposed leader made after its successor had looked: of an older epoch, without an instance, and not among those that were
 * there at the take-over. Their round is void, so they are deleted before anything is launched for them.
 */
export function lateClaims(world: World, term: { readonly epoch: number; readonly inherited: ReadonlySet<string> }): readonly NodeClaim[] {
  return [...world.claims.values()].filter((claim) => {
    const mark = markOf(claim);
    return mark !== undefined && mark.admission.epoch < term.epoch && !term.inherited.has(claim.uid) && claim.deletionMs === undefined && isUnpaired(claim);
  });
}

/** Of two claims that name one pod, the later yields; one that has its instance already stays, and the other yields. */
export function yieldingClaims(world: World, nowMs: number): readonly NodeClaim[] {
  const yielding = new Map<string, NodeClaim>();
  for (const claim of world.claims.values()) {
    if (claim.deletionMs !== undefined || !isUnpaired(claim)) continue;
    const live = livePromise(world, claim.uid, nowMs);
    const earlier = live?.waiting.some((pod) => world.holdersOf(pod.uid).some((holder) => {
      const other = world.claims.get(holder);
      return other !== undefined && other.uid !== claim.uid && livePromise(world, holder, nowMs) !== undefined && isEarlier(other, claim);
    }));
    if (earlier === true) yielding.set(claim.uid, claim);
  }
  return [...yielding.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** By admission, then by when and under which name they were made. Claims without an admission are nobody's bin and never yield. */
function isEarlier(a: NodeClaim, b: NodeClaim): boolean {
  if (isUnpaired(a) !== isUnpaired(b)) return isUnpaired(b);
  const [first, second] = [markOf(a), markOf(b)];
  if (second === undefined) return false;
  const byAdmission = first === undefined ? -1 : compareAdmissions(first.admission, second.admission);
  return (byAdmission || a.createdMs - b.createdMs || (a.name < b.name ? -1 : 1)) < 0;
}
