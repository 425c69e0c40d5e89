import { parseDurationMs } from './duration.js';
import type { PersistentVolumeClaim } from './node.js';
import type { Pod, Taint } from './pod.js';
import { tolerates } from './taints.js';

/** Whether the pod has ended: Succeeded or Failed. */
export const isTerminal = (pod: Pod): boolean =>
  pod.phase === 'Succeeded' || pod.phase === 'Failed';

/** Whether the pod is being deleted. */
export const isTerminating = (pod: Pod): boolean => pod.deletionMs !== undefined;

/** Whether the pod has neither ended nor been asked to go. */
export const isActive = (pod: Pod): boolean => !isTerminal(pod) && !isTerminating(pod);

/** Whether the pod has a node. It stays there until it ends. */
export const isBound = ({ nodeName }: Pick<Pod, 'nodeName'>): boolean => nodeName !== undefined;

/**
 * The node that a waiting pod of a daemonset is made for. The daemonset controller pins each pod to
 * one node by a field of its affinity, and leaves the binding to kube-scheduler.
 */
export function awaitedByNode(pod: Pod): string | undefined {
  if (pod.nodeName !== undefined || !isDaemonPod(pod) || !isActive(pod)) return undefined;
  const pin = pod.requiredNodeAffinity?.[0]?.matchFields.find(
    ({ key, operator }) => key === 'metadata.name' && operator === 'In',
  );
  return pin?.values.length === 1 ? pin.values[0] : undefined;
}

/** Whether a daemonset runs the pod. Its successor arrives with the next node by itself. */
export const isDaemonPod = (pod: Pod): boolean =>
  pod.owner?.kind === 'DaemonSet' && pod.owner.apiVersion.startsWith('apps/');

/** Whether the pod is static. The kubelet runs it from a file, so it cannot be moved. */
export const isStaticPod = (pod: Pod): boolean =>
  pod.mirror || (pod.owner?.kind === 'Node' && pod.owner.apiVersion === 'v1');

/**
 * Whether the pod waits for a place. It is not bound, preempts no other pod, has no scheduling
 * gate, and is neither a daemon nor static.
 */
export const isUnplaced = (pod: Pod): boolean =>
  pod.nodeName === undefined &&
  pod.nominatedNodeName === undefined &&
  pod.schedulingGates.length === 0 &&
  isActive(pod) &&
  !isDaemonPod(pod) &&
  !isStaticPod(pod);

/**
 * Whether the pod, or its successor, will need a place when its node goes away (Karpenter's
 * IsReschedulable). A terminating pod of a stateful set counts, because its successor appears only
 * after it is gone.
 */
export function isReschedulable(pod: Pod): boolean {
  const stateful = pod.owner?.kind === 'StatefulSet' && pod.owner.apiVersion.startsWith('apps/');
  return (
    (isActive(pod) || (stateful && isTerminating(pod) && !isTerminal(pod))) &&
    !isDaemonPod(pod) &&
    !isStaticPod(pod)
  );
}

/** The pod, or its successor, as it waits for a place once its node is gone. */
export function uprooted(pod: Pod): Pod {
  const { nodeName: _node, nominatedNodeName: _nominated, deletionMs: _deletion, ...rest } = pod;
  return { ...rest, phase: 'Pending', unschedulable: true };
}

/**
 * Whether draining evicts the pod: it is active, not static, and does not tolerate the draining
 * taint.
 */
export function isEvictable(pod: Pod, drainTaint: Taint): boolean {
  return (
    isActive(pod) &&
    !isStaticPod(pod) &&
    !pod.tolerations.some((toleration) => tolerates(drainTaint, toleration))
  );
}

/** The reason why only kube-scheduler may bind a pod, although it may be planned for. */
export type SchedulerReason =
  | { readonly kind: 'scheduler-name'; readonly name: string }
  | { readonly kind: 'scheduling-gate'; readonly name: string }
  | { readonly kind: 'scheduling-group' }
  | { readonly kind: 'resource-claim'; readonly name: string }
  | { readonly kind: 'unbound-volume'; readonly name: string };

/** Finds a claim. Undefined when there is none, or none yet. */
export type ClaimLookup = (namespace: string, name: string) => PersistentVolumeClaim | undefined;

/**
 * Says why only kube-scheduler can bind this pod, or undefined when others may. A volume that is
 * not bound yet is provisioned where the scheduler chooses. Gates, groups and resource claims are
 * its work.
 */
export function needsScheduler(pod: Pod, claimOf: ClaimLookup): SchedulerReason | undefined {
  if (pod.schedulerName !== 'default-scheduler')
    return { kind: 'scheduler-name', name: pod.schedulerName };
  const gate = pod.schedulingGates[0];
  if (gate !== undefined) return { kind: 'scheduling-gate', name: gate };
  if (pod.schedulingGroup) return { kind: 'scheduling-group' };
  const claim = pod.resourceClaims[0];
  if (claim !== undefined) return { kind: 'resource-claim', name: claim };
  for (const { claimName } of pod.volumes) {
    const volume = claimOf(pod.namespace, claimName);
    if (volume?.volumeName === undefined || !volume.bindCompleted)
      return { kind: 'unbound-volume', name: claimName };
  }
  return undefined;
}

/** The request of the annotation karpenter.sh/do-not-disrupt. */
export type DisruptionProtection =
  | { readonly kind: 'none' }
  | { readonly kind: 'always' }
  | { readonly kind: 'for'; readonly durationMs: number }
  | { readonly kind: 'invalid'; readonly text: string };

/**
 * Reads a pod's do-not-disrupt annotation: `true`, or a Go duration above zero. Other texts are
 * `invalid`.
 */
export function disruptionProtectionOf(pod: Pod): DisruptionProtection {
  const text = pod.annotations['karpenter.sh/do-not-disrupt'];
  if (text === undefined || text === 'false') return { kind: 'none' };
  if (text === 'true') return { kind: 'always' };
  const durationMs = parseDurationMs(text);
  return durationMs === undefined || durationMs <= 0
    ? { kind: 'invalid', text }
    : { kind: 'for', durationMs };
}

/**
 * Whether the pod forbids disrupting its node now. A duration counts from the pod's start, and a
 * pod that has not started is protected.
 */
export function isDisruptionProtected(pod: Pod, nowMs: number): boolean {
  const protection = disruptionProtectionOf(pod);
  switch (protection.kind) {
    case 'none':
    case 'invalid':
      return false;
    case 'always':
      return true;
    case 'for':
      return pod.startMs === undefined || nowMs < pod.startMs + protection.durationMs;
  }
}

/** The values of Kubernetes' int32. */
const int32 = { min: -(2 ** 31), max: 2 ** 31 - 1 };

/** The number that the text says in whole digits, as an int32. Undefined: it says none. */
function int32Of(text: string): number | undefined {
  if (!/^[+-]?[0-9]+$/.test(text)) return undefined;
  const value = Number(text);
  return value < int32.min || value > int32.max ? undefined : value;
}

/**
 * The cost that the pod's annotations ask for. Karpenter's own comes before Kubernetes' cost of
 * deletion. A text that is no int32 counts as 0, and the other annotation is not asked.
 */
function askedCost({ annotations }: Pod): number {
  const text =
    annotations['karpenter.sh/disruption-cost'] ??
    annotations['controller.kubernetes.io/pod-deletion-cost'] ??
    '';
  return int32Of(text) ?? 0;
}

/**
 * The cost of evicting the pod, from -10 to 10 (Karpenter's EvictionCost). It is 1, plus the cost
 * of its annotations over 2^27, plus its priority over 2^25.
 */
export const evictionCost = (pod: Pod): number =>
  Math.min(10, Math.max(-10, 1 + askedCost(pod) / 2 ** 27 + pod.priority / 2 ** 25));
