import { annotations, type NodeClaim, taints } from '@dovetail/core-api';
import type { Node, Taint } from '@dovetail/core-kube-model';

/**
 * Whether the taint is the one that keeps new pods away from a node while it is retired. Key and
 * effect decide, as in Karpenter (`Taint.MatchTaint`); the value does not.
 */
export const isDisruptedTaint = (taint: Pick<Taint, 'key' | 'effect'>): boolean =>
  taint.key === taints.disrupted.key && taint.effect === taints.disrupted.effect;

/** Whether the node carries the taint that keeps new pods away from it while it is retired. */
export const isTaintedDisrupted = (node: Pick<Node, 'taints'>): boolean =>
  node.taints.some(isDisruptedTaint);

/**
 * Whether someone has begun to retire the node: the reaper's annotation, or the taint that it and
 * Karpenter set. Both are written at once; either alone is enough, so a half-undone retirement
 * counts.
 */
export const isMarkedForRetirement = (node: Pick<Node, 'annotations' | 'taints'>): boolean =>
  node.annotations[annotations.retirement] !== undefined || isTaintedDisrupted(node);

/** Whether the node or its claim is being deleted in the API. Either may be absent. */
export const isBeingDeleted = (
  node: Pick<Node, 'deletionMs'> | undefined,
  claim: Pick<NodeClaim, 'deletionMs'> | undefined,
): boolean => node?.deletionMs !== undefined || claim?.deletionMs !== undefined;

/**
 * Whether the node is leaving, for whatever cause: nothing more may be planned or promised on it.
 */
export const isRetiring = (
  node: Pick<Node, 'annotations' | 'taints' | 'deletionMs'> | undefined,
  claim?: Pick<NodeClaim, 'deletionMs'>,
): boolean => isBeingDeleted(node, claim) || (node !== undefined && isMarkedForRetirement(node));
