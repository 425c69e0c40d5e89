import { annotations, labels, taints, type NodeClaim, type Pool } from '@dovetail/core-api';
import type { Node, Pod, PodDisruptionBudget } from '@dovetail/core-kube-model';

/** A claim with everything that deciding its end reads. Built from the reaper's own watches or live reads, never from the bus. */
export type NodeView = {
  readonly claim: NodeClaim;
  /** The node that the claim became; absent until it has joined. */
  readonly node?: Node;
  /** The pods bound to the node, ended ones too. */
  readonly pods: readonly Pod[];
  /** Absent: the pool is gone. */
  readonly pool?: Pool;
};

/** Finds the disruption budgets that select a pod. */
export type BudgetsOfPod = (pod: Pod) => readonly PodDisruptionBudget[];

/** When a condition became True, in milliseconds since 1970; undefined when it is not True. */
export function conditionTrueSinceMs(claim: NodeClaim, type: string): number | undefined {
  const condition = claim.conditions.find((one) => one.type === type);
  return condition?.status === 'True' ? condition.lastTransitionMs : undefined;
}

/** Whether the node carries the taint that keeps new pods away from it while it is retired. */
export const isTaintedDisrupted = (node: Node): boolean =>
  node.taints.some((taint) => taint.key === taints.disrupted.key && taint.effect === taints.disrupted.effect);

/** Whether anything ends this claim or its node already; with `retiring`, our own retirement of it does not count. */
export const isEnding = (view: Pick<NodeView, 'claim' | 'node'>, options: { readonly retiring?: boolean } = {}): boolean =>
  view.claim.deletionMs !== undefined || view.node?.deletionMs !== undefined
  || (options.retiring !== true && view.node !== undefined && (view.node.annotations[annotations.retirement] !== undefined || isTaintedDisrupted(view.node)));

/** Whether the node has taken part in the cluster: the claim's condition, or the label that goes with it. */
export const isInitialized = (view: Pick<NodeView, 'claim' | 'node'>): boolean =>
  conditionTrueSinceMs(view.claim, 'Initialized') !== undefined || view.node?.labels[labels.initialized] === 'true';

/** The instance behind a claim: the launcher's pairing, or the last part of the provider ID. Undefined while it has none. */
export function instanceIdOf(claim: NodeClaim): string | undefined {
  const id = claim.annotations[annotations.instanceId] ?? instanceIdOfProvider(claim.providerId);
  return id === undefined || id === '' ? undefined : id;
}

/** `aws:///us-west-2a/i-0123456789abcdef0` → `i-0123456789abcdef0`. */
export const instanceIdOfProvider = (providerId: string | undefined): string | undefined =>
  providerId === undefined ? undefined : /^aws:\/\/\/[^/]+\/(i-[0-9a-f]+)$/.exec(providerId)?.[1];
