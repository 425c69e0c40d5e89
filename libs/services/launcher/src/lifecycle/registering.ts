import { annotations, labels, taints, terminationFinalizer, type NodeClaim } from '@dovetail/core-api';
import type { Node } from '@dovetail/core-kube-model';
import type { Change } from '../world/writer.js';
import { isoSeconds } from './conditions.js';
import { registeredTaints, taintObjects } from './steps.js';

/** Annotations of a claim that are the launcher's own business and do not belong on its node. */
const ownOfClaim: ReadonlySet<string> = new Set([annotations.promise, annotations.admission, annotations.launchIntent, annotations.instanceId, 'karpenter.k8s.aws/tagged']);

export const isRegistered = (node: Node): boolean => node.labels[labels.registered] === 'true' && !node.taints.some((taint) => taint.key === taints.unregistered.key);

/**
 * Makes a node that joined its claim's node: labels, annotations, taints, finalizer, owner. The taint that says unregistered goes, and
 * when pods are to be placed a cordon takes its place in the same write, so that there is no moment in which others may land.
 */
export function registration(now: Node, claim: NodeClaim, options: { readonly cordon: boolean; readonly nowMs: number }): Change {
  if (isRegistered(now) && now.finalizers.includes(terminationFinalizer)) return undefined;
  const carried = Object.fromEntries(Object.entries(claim.annotations).filter(([key]) => !ownOfClaim.has(key)));
  return {
    metadata: {
      labels: { ...claim.labels, [labels.registered]: 'true' },
      annotations: { ...carried, ...(options.cordon ? { [annotations.placementCordon]: isoSeconds(options.nowMs) } : {}) },
      finalizers: [...new Set([...now.finalizers, terminationFinalizer])],
      ownerReferences: [{ apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name: claim.name, uid: claim.uid, blockOwnerDeletion: true }],
    },
    spec: { taints: taintObjects(registeredTaints(now, claim)), ...(options.cordon ? { unschedulable: true } : {}) },
  };
}

/** When the launcher cordoned the node for its bin; undefined when it did not. */
export function cordonedSinceMs(node: Node): number | undefined {
  const text = node.annotations[annotations.placementCordon];
  if (text === undefined) return undefined;
  const sinceMs = Date.parse(text);
  // A cordon of ours whose time cannot be read has lasted long enough.
  return Number.isNaN(sinceMs) ? 0 : sinceMs;
}

/** Opens the node: the cordon that is ours ends, one that somebody else has put there since does not carry our mark. */
export function opening(now: Node): Change {
  if (now.annotations[annotations.placementCordon] === undefined) return undefined;
  return { metadata: { annotations: { [annotations.placementCordon]: null } }, spec: { unschedulable: null } };
}
