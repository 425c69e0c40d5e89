import { labels, type NodeClaim, type PoolIdentity, taints } from '@dovetail/core-api';
import type { Node, Taint } from '@dovetail/core-kube-model';

/** Whether two taints are one in Kubernetes: their key and effect name them. */
export const isSameTaint = (
  a: Pick<Taint, 'key' | 'effect'>,
  b: Pick<Taint, 'key' | 'effect'>,
): boolean => a.key === b.key && a.effect === b.effect;

/**
 * Whether registration has made the node its claim's: the label is there and the taint has gone.
 */
export const isRegistered = (node: Pick<Node, 'labels' | 'taints'>): boolean =>
  node.labels[labels.registered] === 'true' &&
  !node.taints.some((taint) => taint.key === taints.unregistered.key);

/**
 * The labels of a node once it is registered: its own and the claim's, which win (Karpenter's
 * `syncNode` assigns them over the kubelet's). The label that says registered is not among them.
 */
export const registeredLabels = (
  node: Pick<Node, 'labels'>,
  claim: Pick<NodeClaim, 'labels'>,
): Readonly<Record<string, string>> => ({ ...node.labels, ...claim.labels });

/**
 * The taints of a node once it is registered: its own and the claim's, startup taints included,
 * without the one that says it is not. A node may ask to keep its own taints only (Karpenter's
 * `do-not-sync-taints`).
 */
export function registeredTaints(
  node: Pick<Node, 'labels' | 'taints'>,
  claim: Pick<NodeClaim, 'taints' | 'startupTaints'>,
): readonly Taint[] {
  const kept = node.taints.filter((taint) => taint.key !== taints.unregistered.key);
  if (node.labels[labels.doNotSyncTaints] === 'true') return kept;
  const wanted = [...claim.taints, ...claim.startupTaints];
  return [...kept, ...wanted.filter((taint) => !kept.some((other) => isSameTaint(other, taint)))];
}

/** The pool that a node's labels name; undefined for nodes that Dovetail does not manage. */
export function poolOfLabels(
  nodeLabels: Readonly<Record<string, string>>,
): PoolIdentity | undefined {
  const nodePool = nodeLabels[labels.nodePool];
  if (nodePool !== undefined) return { kind: 'NodePool', name: nodePool };
  const provisioner = nodeLabels[labels.provisioner];
  return provisioner === undefined ? undefined : { kind: 'Provisioner', name: provisioner };
}
