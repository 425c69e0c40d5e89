import { annotations, labels, type NodeClaim, type Pool, taints } from '@dovetail/core-api';
import { isBeingDeleted, isRetiring } from '@dovetail/core-cluster';
import type { Node, Pod, PodDisruptionBudget } from '@dovetail/core-kube-model';

/**
 * A claim with all that deciding its end reads. It comes from the reaper's watches or live reads,
 * never from the bus.
 */
export type NodeView = {
  readonly claim: NodeClaim;
  /** The node that the claim became; absent until it has joined. */
  readonly node?: Node;
  /**
   * Names of all Nodes that carry the claim's provider ID, if there are several. It is not known
   * then which of them the instance keeps, so only a certain end takes it. Absent: there is one.
   */
  readonly duplicates?: readonly string[];
  /** The pods that are bound to the node, including ended ones. */
  readonly pods: readonly Pod[];
  /** Absent: the pool is gone. */
  readonly pool?: Pool;
  /**
   * The price of its offering now, in micro-dollars an hour. AWS bills a running Spot instance so,
   * not at the price of its launch. Absent: the offering is not known, or not any more.
   */
  readonly priceMicrosPerHour?: number;
};

/** Finds the disruption budgets that select a pod. */
export type BudgetsOfPod = (pod: Pod) => readonly PodDisruptionBudget[];

/** When a condition became True, in milliseconds since 1970; undefined when it is not True. */
export function conditionTrueSinceMs(claim: NodeClaim, type: string): number | undefined {
  const condition = claim.conditions.find((one) => one.type === type);
  return condition?.status === 'True' ? condition.lastTransitionMs : undefined;
}

/**
 * Whether anything ends this claim or its node already; with `retiring`, our own retirement of it
 * does not count.
 */
export const isEnding = (
  { node, claim }: Pick<NodeView, 'claim' | 'node'>,
  options: { readonly retiring?: boolean } = {},
): boolean => (options.retiring === true ? isBeingDeleted(node, claim) : isRetiring(node, claim));

/**
 * Whether the node has taken part in the cluster: the claim's condition, or the label that goes
 * with it.
 */
export const isInitialized = (view: Pick<NodeView, 'claim' | 'node'>): boolean =>
  conditionTrueSinceMs(view.claim, 'Initialized') !== undefined ||
  view.node?.labels[labels.initialized] === 'true';

/**
 * Whether Karpenter 1.15 reboots the node: the condition of its claim, or the taint that keeps pods
 * away meanwhile.
 */
export const isRebooting = ({ claim, node }: Pick<NodeView, 'claim' | 'node'>): boolean =>
  claim.conditions.some(({ type, status }) => type === 'Rebooting' && status === 'True') ||
  node?.taints.some(({ key }) => key === taints.rebooting.key) === true;

/**
 * When a claim's node must be gone, in spite of its pods (RFC 3339 in Karpenter's annotation).
 * Undefined: no deadline.
 */
export function terminationDeadlineMs(claim: NodeClaim): number | undefined {
  const text = claim.annotations[annotations.terminationTimestamp];
  const ms = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}

/** Whether EC2 has been told to end the instance, as the claim's condition says. */
export const isToldToEnd = (claim: NodeClaim): boolean =>
  claim.conditions.some(({ type, status }) => type === 'InstanceTerminating' && status === 'True');
