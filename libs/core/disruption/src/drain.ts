import { taints } from '@dovetail/core-api';
import {
  isDaemonPod, isDisruptionProtected, isEvictable, isStaticPod, isTerminal, isTerminating, tolerates, type Pod, type VolumeAttachment,
} from '@dovetail/core-kube-model';
import { byText, note, type DisruptionNote } from './refusal.js';

/** A pod this far past its deletion time is stuck; draining no longer waits for it (Karpenter's rule). */
export const stuckTerminatingMs = 60_000;

const criticalClasses = new Set(['system-cluster-critical', 'system-node-critical']);

/** Draining goes by tiers: ordinary pods, ordinary daemons, critical pods, critical daemons. Each waits until the earlier are gone. */
export const drainTier = (pod: Pod): number => (criticalClasses.has(pod.priorityClassName ?? '') ? 2 : 0) + (isDaemonPod(pod) ? 1 : 0);

/** Whether draining waits for the pod to be gone: not ended, not static, not at home on retiring nodes, not stuck. */
export function isDrainable(pod: Pod, nowMs: number): boolean {
  if (isTerminal(pod) || isStaticPod(pod)) return false;
  if (pod.tolerations.some((toleration) => tolerates(taints.disrupted, toleration))) return false;
  return pod.deletionMs === undefined || nowMs < pod.deletionMs + stuckTerminatingMs;
}

export type ForcedDeletion = { readonly pod: Pod; readonly gracePeriodSeconds: number };

/** What draining does next. Each effect is keyed by a pod's UID, so that doing it twice changes nothing. */
export type DrainPlan = {
  /** Nothing is left to wait for. */
  readonly done: boolean;
  /** By the Eviction API, which asks the PodDisruptionBudgets. */
  readonly evict: readonly Pod[];
  /** By deletion, which asks nobody: the deadline is near. */
  readonly force: readonly ForcedDeletion[];
  /** Everything that is still there, with why it is not evicted now where that is so. */
  readonly waitingFor: readonly { readonly pod: Pod; readonly note?: DisruptionNote }[];
};

const inOrder = (a: Pod, b: Pod): number => drainTier(a) - drainTier(b) || byText(a.namespace, b.namespace) || byText(a.name, b.name) || byText(a.uid, b.uid);

/**
 * At the deadline less the pod's grace period it is deleted, whatever its tier, its budgets or its protection say; so is a pod
 * whose own grace would outlast the deadline. The grace that is left is at least a second, so that kubelets still see it.
 */
function forced(pod: Pod, deadlineMs: number | undefined, nowMs: number): ForcedDeletion | undefined {
  if (deadlineMs === undefined) return undefined;
  const leftSeconds = Math.max(1, Math.floor((deadlineMs - nowMs) / 1000));
  const due = isTerminating(pod) ? (pod.deletionMs ?? 0) > deadlineMs && (pod.deletionMs ?? 0) > nowMs + 1000 : nowMs > deadlineMs - pod.terminationGracePeriodSeconds * 1000;
  return due ? { pod, gracePeriodSeconds: Math.max(1, Math.min(leftSeconds, pod.terminationGracePeriodSeconds)) } : undefined;
}

/** Plans the next step of draining a node from the pods that are bound to it. `deadlineMs` absent: draining may take for ever. */
export function planDrain(pods: readonly Pod[], when: { readonly nowMs: number; readonly deadlineMs?: number }): DrainPlan {
  const { nowMs, deadlineMs } = when;
  const left = pods.filter((pod) => isDrainable(pod, nowMs)).sort(inOrder);
  const force = left.flatMap((pod) => forced(pod, deadlineMs, nowMs) ?? []);
  const going = new Set(force.map(({ pod }) => pod.uid));
  const tier = Math.min(...left.map(drainTier));
  const evict: Pod[] = [];
  const waitingFor = left.map((pod) => {
    if (going.has(pod.uid) || isTerminating(pod)) return { pod };
    if (isDisruptionProtected(pod, nowMs)) return { pod, note: note('pod-protected', `${pod.namespace}/${pod.name} has karpenter.sh/do-not-disrupt`, { pod: `${pod.namespace}/${pod.name}` }) };
    if (drainTier(pod) === tier && isEvictable(pod, taints.disrupted)) evict.push(pod);
    return { pod };
  });
  return { done: left.length === 0, evict, force, waitingFor };
}

/**
 * The attachments that must be gone before the instance may end, so that no volume is torn from a running writer: all but those
 * of volumes that pods which stay on the node (daemons that tolerate the taint) still use.
 */
export const attachmentsToAwait = (attachments: readonly VolumeAttachment[], volumesOfStayingPods: ReadonlySet<string>): readonly VolumeAttachment[] =>
  attachments.filter(({ volumeName }) => volumeName === undefined || !volumesOfStayingPods.has(volumeName)).toSorted((a, b) => byText(a.name, b.name));
