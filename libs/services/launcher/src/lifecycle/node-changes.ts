import { annotations, labels, type NodeClaim, terminationFinalizer } from '@dovetail/core-api';
import { isRegistered, registeredTaints } from '@dovetail/core-cluster';
import { isoSeconds, type Node, type Taint } from '@dovetail/core-kube-model';
import type { Change } from '@dovetail/service-kit';

import { taggedAnnotation } from './instance-tagger.js';

/** Annotations of a claim that are the launcher's own and are not copied to its node. */
const ownOfClaim: ReadonlySet<string> = new Set([
  annotations.promise,
  annotations.admission,
  annotations.launchIntent,
  annotations.instanceId,
  taggedAnnotation,
]);

/**
 * The change that registers a node as its claim's, as Karpenter does: labels, annotations, taints,
 * finalizer and owner. Undefined when the node is registered already. A cordon
 * takes the place of the taint `unregistered` in the same write, so that no other pod can land in
 * between.
 */
export function registeredNode(
  now: Node,
  claim: NodeClaim,
  options: { readonly cordon: boolean; readonly nowMs: number },
): Change {
  if (isRegistered(now) && now.finalizers.includes(terminationFinalizer)) return undefined;
  return {
    metadata: {
      labels: { ...claim.labels, [labels.registered]: 'true' },
      annotations: {
        ...copiedAnnotations(claim),
        ...(options.cordon ? { [annotations.placementCordon]: isoSeconds(options.nowMs) } : {}),
      },
      finalizers: [...new Set([...now.finalizers, terminationFinalizer])],
      ownerReferences: [
        {
          apiVersion: 'karpenter.sh/v1',
          kind: 'NodeClaim',
          name: claim.name,
          uid: claim.uid,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      taints: registeredTaints(now, claim).map(taintObject),
      ...(options.cordon ? { unschedulable: true } : {}),
    },
  };
}

/** When the launcher cordoned the node for its pods; undefined when it did not. */
export function cordonedSinceMs(node: Node): number | undefined {
  const text = node.annotations[annotations.placementCordon];
  if (text === undefined) return undefined;
  const sinceMs = Date.parse(text);
  // A cordon of ours with an unreadable time ends at once.
  return Number.isNaN(sinceMs) ? 0 : sinceMs;
}

/**
 * Ends our cordon; undefined when there is none. A cordon that someone else set does not carry our
 * mark.
 */
export const openedNode = (now: Node): Change =>
  now.annotations[annotations.placementCordon] === undefined
    ? undefined
    : {
        metadata: { annotations: { [annotations.placementCordon]: null } },
        spec: { unschedulable: null },
      };

/** Sets Karpenter's label of an initialized node; undefined when it is set. */
export const initializedNode = (now: Node): Change =>
  now.labels[labels.initialized] === 'true'
    ? undefined
    : {
        metadata: {
          labels: { [labels.initialized]: 'true' },
          ...(isOverdue(now) ? { annotations: { [annotations.overdue]: null } } : {}),
        },
      };

/** Whether the node did not become usable in time, and has not since. */
export const isOverdue = (node: Pick<Node, 'annotations'>): boolean =>
  node.annotations[annotations.overdue] !== undefined;

/** Marks a node as overdue; undefined when it is marked. */
export const overdueNode = (now: Node, nowMs: number): Change =>
  isOverdue(now)
    ? undefined
    : { metadata: { annotations: { [annotations.overdue]: isoSeconds(nowMs) } } };

const copiedAnnotations = (claim: NodeClaim): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(claim.annotations).filter(([key]) => !ownOfClaim.has(key)));

/** A taint as the API takes it. */
const taintObject = ({ key, value, effect }: Taint): Readonly<Record<string, string>> => ({
  key,
  effect,
  ...(value === undefined || value === '' ? {} : { value }),
});
