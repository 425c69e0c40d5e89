import { evictionCost, type Pod } from '@dovetail/core-kube-model';

/** The cost of moving a pod of priority 0 that is not new, has no volume and ends at once. */
export const defaultMoveCostMicrosPerHour = 1_000;

/** A pod that came later has just paid for its start, and pays again. */
const youngMs = 1_800_000;
const youngFactor = 2;
/** A volume is detached and attached before the pod runs again. */
const volumeFactor = 2;
/** A pod that takes so long to end costs as much again: its old node runs beside the new one. */
const graceSeconds = 600;

/**
 * The cost of moving a pod, in moves of an ordinary one. It is the eviction cost, which counts the
 * priority and `karpenter.sh/disruption-cost` or `controller.kubernetes.io/pod-deletion-cost`, and
 * which is none if it is negative. A young pod costs twice as much, one with volumes too, and a
 * grace period of ten minutes as well.
 */
export function moveCostOf(pod: Pod, nowMs: number): number {
  const age = nowMs - pod.createdMs < youngMs ? youngFactor : 1;
  const volumes = pod.volumes.length > 0 ? volumeFactor : 1;
  const grace = 1 + pod.terminationGracePeriodSeconds / graceSeconds;
  return Math.max(0, evictionCost(pod)) * age * volumes * grace;
}
