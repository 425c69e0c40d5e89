import { taints } from '@dovetail/core-api';
import {
  compareText,
  isDaemonPod,
  isDisruptionProtected,
  isEvictable,
  isStaticPod,
  isTerminal,
  isTerminating,
  type Pod,
  tolerates,
  type VolumeAttachment,
} from '@dovetail/core-kube-model';

import { type DisruptionNote, note } from '../facts/refusal.js';

/**
 * A pod this far past its deletion time is stuck, and draining no longer waits for it (Karpenter's
 * rule).
 */
const stuckTerminatingMs = 60_000;

const criticalClasses = new Set(['system-cluster-critical', 'system-node-critical']);

/**
 * The tier of a pod: 0 ordinary pods, 1 ordinary daemons, 2 critical pods, 3 critical daemons. A
 * tier is evicted when the earlier ones are gone (Karpenter's order, as of the graceful node
 * shutdown).
 */
export const drainTier = (pod: Pod): number =>
  (criticalClasses.has(pod.priorityClassName ?? '') ? 2 : 0) + (isDaemonPod(pod) ? 1 : 0);

/** The time by our clock, and when a terminating pod was first seen so, by the same clock. */
export type DrainClock = {
  readonly nowMs: number;
  /** Undefined: it was not seen before. Absent: the API server's clock is ours. */
  readonly endingSeenMs?: (pod: Pod) => number | undefined;
};

/**
 * When a terminating pod is stuck. Its deletion time is of the API server's clock. Ours may be
 * ahead of that, so the pod also has its grace from when we saw it first.
 */
function stuckMs(pod: Pod, deletionMs: number, { nowMs, endingSeenMs }: DrainClock): number {
  const graceMs = pod.terminationGracePeriodSeconds * 1_000;
  const ownMs = endingSeenMs === undefined ? deletionMs : (endingSeenMs(pod) ?? nowMs) + graceMs;
  return Math.max(deletionMs, ownMs) + stuckTerminatingMs;
}

/**
 * Whether draining waits for the pod: it has not ended, is not static or stuck, and does not
 * tolerate the taint.
 */
export function isDrainable(pod: Pod, clock: DrainClock): boolean {
  if (isTerminal(pod) || isStaticPod(pod)) return false;
  if (pod.tolerations.some((toleration) => tolerates(taints.disrupted, toleration))) return false;
  return pod.deletionMs === undefined || clock.nowMs < stuckMs(pod, pod.deletionMs, clock);
}

/** A pod to delete past its budgets. Invariant: gracePeriodSeconds >= 1. */
type ForcedDeletion = { readonly pod: Pod; readonly gracePeriodSeconds: number };

/**
 * The next step of draining. Effects are keyed by pod UID, so repeating one changes nothing.
 * Invariant: evict and force share no pod.
 */
export type DrainPlan = {
  /** Nothing is left to wait for. */
  readonly done: boolean;
  /** To evict through the Eviction API, which asks PodDisruptionBudgets. */
  readonly evict: readonly Pod[];
  /** To delete without asking budgets, because the deadline is near. */
  readonly force: readonly ForcedDeletion[];
  /** Every pod that draining waits for, with a note where it is not evicted now. */
  readonly waitingFor: readonly { readonly pod: Pod; readonly note?: DisruptionNote }[];
};

/** The memory that EC2's general-purpose types have for each core, in bytes. */
const memoryPerCore = 4 * 2 ** 30;

/** How much of a node a pod takes, in thousandths of a core and of its memory together. */
const sizeOf = ({ requests: { cpu = 0, memory = 0 } }: Pod): number =>
  cpu + (memory / memoryPerCore) * 1_000;

/**
 * Large pods go first within a tier: kube-scheduler places their successors in the order in which
 * they come, and small ones would take the room that only suits the large ones.
 */
const inOrder = (a: Pod, b: Pod): number =>
  drainTier(a) - drainTier(b) ||
  sizeOf(b) - sizeOf(a) ||
  compareText(a.namespace, b.namespace) ||
  compareText(a.name, b.name) ||
  compareText(a.uid, b.uid);

/**
 * The forced deletion of a pod, if it is due. It is due at the deadline less the pod's grace
 * period, regardless of tier, budgets and protection. It is also due for a terminating pod whose
 * grace would outlast the deadline. At least a second of grace is left, so that the kubelet still
 * sees it.
 */
function forced(
  pod: Pod,
  deadlineMs: number | undefined,
  nowMs: number,
): ForcedDeletion | undefined {
  if (deadlineMs === undefined) return undefined;
  const leftSeconds = Math.max(1, Math.floor((deadlineMs - nowMs) / 1000));
  const due =
    pod.deletionMs === undefined
      ? nowMs > deadlineMs - pod.terminationGracePeriodSeconds * 1000
      : pod.deletionMs > deadlineMs && pod.deletionMs > nowMs + 1000;
  return due
    ? {
        pod,
        gracePeriodSeconds: Math.max(1, Math.min(leftSeconds, pod.terminationGracePeriodSeconds)),
      }
    : undefined;
}

/**
 * Plans the next step of draining from the pods that are bound to a node. Without `deadlineMs`
 * draining may take for ever.
 */
export function planDrain(
  pods: readonly Pod[],
  when: DrainClock & { readonly deadlineMs?: number },
): DrainPlan {
  const { nowMs, deadlineMs } = when;
  const left = pods.filter((pod) => isDrainable(pod, when)).sort(inOrder);
  const force = left.flatMap((pod) => forced(pod, deadlineMs, nowMs) ?? []);
  const going = new Set(force.map(({ pod }) => pod.uid));
  const tier = Math.min(...left.map(drainTier));
  const evict: Pod[] = [];
  const waitingFor = left.map((pod) => {
    if (going.has(pod.uid) || isTerminating(pod)) return { pod };
    if (isDisruptionProtected(pod, nowMs))
      return {
        pod,
        note: note(
          'pod-protected',
          `${pod.namespace}/${pod.name} has karpenter.sh/do-not-disrupt`,
          { pod: `${pod.namespace}/${pod.name}` },
        ),
      };
    if (drainTier(pod) === tier && isEvictable(pod, taints.disrupted)) evict.push(pod);
    return { pod };
  });
  return { done: left.length === 0, evict, force, waitingFor };
}

/**
 * The attachments that must be gone before the instance may end, so that no volume is torn from a
 * running writer. Volumes of pods that stay on the node, such as tolerating daemons, are left out.
 */
export const attachmentsToAwait = (
  attachments: readonly VolumeAttachment[],
  volumesOfStayingPods: ReadonlySet<string>,
): readonly VolumeAttachment[] =>
  attachments
    .filter(({ volumeName }) => volumeName === undefined || !volumesOfStayingPods.has(volumeName))
    .toSorted((a, b) => compareText(a.name, b.name));
