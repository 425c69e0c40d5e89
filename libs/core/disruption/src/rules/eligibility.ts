import { annotations, parsePromise, type PromiseAnnotation, taints } from '@dovetail/core-api';
import { hasExpired, isRegistered, isWaiting, reservedNow } from '@dovetail/core-cluster';
import {
  compareText,
  isActive,
  isDisruptionProtected,
  isEvictable,
  isTerminal,
  type Node,
  type Pod,
  type PodDisruptionBudget,
} from '@dovetail/core-kube-model';

import { type DisruptionNote, note } from '../facts/refusal.js';
import {
  type BudgetsOfPod,
  isEnding,
  isInitialized,
  isRebooting,
  type NodeView,
} from '../facts/view.js';

/** Looks up a pod of the cluster by UID. Undefined when it is gone. */
export type PodLookup = (uid: string) => Pod | undefined;

/**
 * The live promises on a node or its claim: the sorted UIDs of pods for which room is kept.
 * `reserved` stands for room that is kept by amount. A promise ends with `untilMs`, or when all of
 * its pods have a node or are gone. Room by amount is kept until the pods that it is for have left
 * their nodes.
 */
export function livePromises(
  view: Pick<NodeView, 'claim' | 'node'>,
  podOf: PodLookup,
  nowMs: number,
): readonly string[] {
  const waiting = new Set<string>();
  for (const text of [
    view.claim.annotations[annotations.promise],
    view.node?.annotations[annotations.promise],
  ]) {
    const promise = parsePromise(text);
    if (promise === undefined || hasExpired(promise, nowMs)) continue;
    for (const uid of promise.podUids) {
      const pod = podOf(uid);
      if (pod !== undefined && isWaiting(pod)) waiting.add(uid);
    }
    if (keepsRoom(promise, podOf)) waiting.add('reserved');
  }
  return [...waiting].sort(compareText);
}

/** Whether room by amount counts. Of a promise that does not say for whom, only an end is safe. */
function keepsRoom(promise: PromiseAnnotation, podOf: PodLookup): boolean {
  if (promise.reserved === undefined) return false;
  if (promise.forPodUids === undefined) return promise.untilMs !== undefined;
  return Object.keys(reservedNow(promise, podOf)).length > 0;
}

/**
 * The reasons why a pod cannot be evicted now: its own protection, or budgets that allow no
 * disruption. Messages are Karpenter's.
 */
export function podBlocks(
  pod: Pod,
  budgets: readonly PodDisruptionBudget[],
  nowMs: number,
): readonly DisruptionNote[] {
  const name = `${pod.namespace}/${pod.name}`;
  if (isActive(pod) && isDisruptionProtected(pod, nowMs))
    return [
      note('pod-protected', `Pod has "karpenter.sh/do-not-disrupt" annotation: ${name}`, {
        pod: name,
      }),
    ];
  if (!isEvictable(pod, taints.disrupted)) return [];
  const many = blockOfManyBudgets(name, budgets);
  if (many !== undefined) return [many];
  const [budget] = budgets;
  if (budget === undefined || allowsEviction(budget, pod)) return [];
  return [
    note('pod-without-budget', `Pdb prevents pod evictions: ${budget.namespace}/${budget.name}`, {
      pod: name,
      pdb: `${budget.namespace}/${budget.name}`,
      disruptionsAllowed: budget.disruptionsAllowed,
    }),
  ];
}

/** The rest of the cluster that decides about one node. */
export type EligibilityOptions = {
  readonly budgetsOf: BudgetsOfPod;
  readonly podOf: PodLookup;
  readonly nowMs: number;
  /** Set for the second look, after our own taint and annotation, which then do not block. */
  readonly retiring?: boolean;
  /**
   * Set for drift, which may wait for pods that cannot go now: if a grace period ends the wait,
   * they do not block (Karpenter's eventual disruption).
   */
  readonly isEventual?: boolean;
};

/**
 * Why a node takes no part in the cluster now: it is rebooted, goes already, or has not been
 * initialised. Undefined: it takes part. Words and order are Karpenter 1.15's.
 */
export function absenceOf(
  view: NodeView & { readonly node: Node },
  options: Pick<EligibilityOptions, 'retiring'> = {},
): DisruptionNote | undefined {
  const { node } = view;
  const values = { node: node.name };
  if (isRebooting(view)) return note('node-rebooting', 'Node is rebooting', values);
  if (isEnding(view, options))
    return note('node-deleting', 'Node is deleting or marked for deletion', values);
  if (view.duplicates !== undefined || isInitialized(view)) return duplicatesNote(view);
  const message = isRegistered(node)
    ? "Node isn't initialized"
    : "Node isn't initialized nor registered";
  return note('node-not-initialized', message, values);
}

/**
 * The note on a claim whose provider ID several Nodes carry. Undefined: one Node carries it.
 * Karpenter likewise disrupts no claim with a DuplicateNodeError.
 */
export function duplicatesNote({ claim, duplicates }: NodeView): DisruptionNote | undefined {
  if (duplicates === undefined) return undefined;
  const nodes = duplicates.join(', ');
  return note(
    'duplicate-nodes',
    `several Nodes carry the provider ID ${claim.providerId ?? ''}: ${nodes}; delete those that are not its instance's`,
    { claim: claim.name, nodes },
  );
}

/** The note on a node that is promised to pods on their way. Undefined: it is not. */
export function promisedNote(
  view: NodeView,
  { podOf, nowMs }: Pick<EligibilityOptions, 'podOf' | 'nowMs'>,
): DisruptionNote | undefined {
  const promised = livePromises(view, podOf, nowMs);
  const [first] = promised;
  if (first === undefined) return undefined;
  return note('node-promised', 'Node is nominated for a pending pod', {
    ...(view.node === undefined ? {} : { node: view.node.name }),
    pods: promised.length,
    first,
  });
}

/** The reason that lies in the node itself, if there is one. */
function nodeBlocks(view: NodeView, options: EligibilityOptions): readonly DisruptionNote[] {
  const { node, claim } = view;
  if (node === undefined)
    return [
      note('node-missing', 'Nodeclaim does not have an associated node', { claim: claim.name }),
    ];
  const against = absenceOf({ ...view, node }, options) ?? promisedNote(view, options);
  if (against !== undefined) return [against];
  if (!isProtected(node) && !isProtected(claim)) return [];
  const message = 'Disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation';
  return [note('node-protected', message, { node: node.name })];
}

const isProtected = (object: { readonly annotations: Readonly<Record<string, string>> }): boolean =>
  object.annotations[annotations.doNotDisrupt] === 'true';

/** The reason against a pod that several budgets select: the Eviction API refuses it. */
function blockOfManyBudgets(
  name: string,
  budgets: readonly PodDisruptionBudget[],
): DisruptionNote | undefined {
  if (budgets.length < 2) return undefined;
  const names = budgets
    .map((budget) => budget.name)
    .sort(compareText)
    .join(', ');
  return note(
    'pod-of-many-budgets',
    `Eviction does not support multiple PDBs: ${name} is in ${names}`,
    { pod: name, budgets: names },
  );
}

/**
 * Whether the budget lets the pod go now: it has disruptions left, or it does not guard unready
 * pods.
 */
const allowsEviction = (budget: PodDisruptionBudget, pod: Pod): boolean =>
  budget.disruptionsAllowed > 0 ||
  (budget.unhealthyPodEvictionPolicy === 'AlwaysAllow' && !pod.ready);

/**
 * The reasons why a node may not be disrupted gracefully now; none when it may. Expiry,
 * interruptions and deletion by the user do not ask. A reason in the node itself comes alone, or
 * else those of its pods.
 */
export function disruptionBlocks(
  view: NodeView,
  options: EligibilityOptions,
): readonly DisruptionNote[] {
  const own = nodeBlocks(view, options);
  if (own.length > 0) return own;
  if (options.isEventual === true && view.claim.terminationGracePeriodMs !== undefined) return [];
  // Few pods block, so that these alone are put in order.
  return view.pods
    .filter((pod) => !isTerminal(pod))
    .map((pod) => ({ pod, notes: podBlocks(pod, options.budgetsOf(pod), options.nowMs) }))
    .filter(({ notes }) => notes.length > 0)
    .sort(
      ({ pod: a }, { pod: b }) =>
        compareText(a.namespace, b.namespace) ||
        compareText(a.name, b.name) ||
        compareText(a.uid, b.uid),
    )
    .flatMap(({ notes }) => notes);
}
