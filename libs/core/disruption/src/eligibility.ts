import { annotations, parsePromise, taints } from '@dovetail/core-api';
import { isActive, isDisruptionProtected, isEvictable, isTerminal, type Pod, type PodDisruptionBudget } from '@dovetail/core-kube-model';
import { byText, note, type DisruptionNote } from './refusal.js';
import { isEnding, isInitialized, type BudgetsOfPod, type NodeView } from './view.js';

/** Looks up a pod by UID wherever it is; undefined when it is gone. */
export type PodLookup = (uid: string) => Pod | undefined;

/**
 * Whether a promise on the node or its claim still waits for pods. It ends with `untilMs`, or when none of its pods is without a
 * node any more; room kept by amount (a replacement's) binds until `untilMs` or, without one, while the claim starts.
 */
export function livePromises(view: Pick<NodeView, 'claim' | 'node'>, podOf: PodLookup, nowMs: number): readonly string[] {
  const waiting = new Set<string>();
  for (const text of [view.claim.annotations[annotations.promise], view.node?.annotations[annotations.promise]]) {
    const promise = parsePromise(text);
    if (promise === undefined || (promise.untilMs !== undefined && promise.untilMs <= nowMs)) continue;
    for (const uid of promise.podUids) {
      const pod = podOf(uid);
      if (pod !== undefined && pod.nodeName === undefined && isActive(pod)) waiting.add(uid);
    }
    if (promise.reserved !== undefined && promise.untilMs !== undefined) waiting.add('reserved');
  }
  return [...waiting].sort(byText);
}

/** The notes that keep a pod from being evicted now: its own protection, and budgets that allow no more disruption. */
export function podBlocks(pod: Pod, budgets: readonly PodDisruptionBudget[], nowMs: number): readonly DisruptionNote[] {
  const name = `${pod.namespace}/${pod.name}`;
  if (isActive(pod) && isDisruptionProtected(pod, nowMs)) return [note('pod-protected', `Pod has "karpenter.sh/do-not-disrupt" annotation: ${name}`, { pod: name })];
  if (!isEvictable(pod, taints.disrupted)) return [];
  if (budgets.length > 1) {
    const names = budgets.map((budget) => budget.name).sort(byText).join(', ');
    return [note('pod-of-many-budgets', `Eviction does not support multiple PDBs: ${name} is in ${names}`, { pod: name, budgets: names })];
  }
  const budget = budgets[0];
  if (budget === undefined || budget.disruptionsAllowed > 0 || (budget.unhealthyPodEvictionPolicy === 'AlwaysAllow' && !pod.ready)) return [];
  return [note('pod-without-budget', `Pdb prevents pod evictions: ${budget.namespace}/${budget.name}`, { pod: name, pdb: `${budget.namespace}/${budget.name}`, disruptionsAllowed: budget.disruptionsAllowed })];
}

export type EligibilityOptions = {
  readonly budgetsOf: BudgetsOfPod;
  readonly podOf: PodLookup;
  readonly nowMs: number;
  /** The second look, after our own taint and annotation: they do not count as somebody else's retirement. */
  readonly retiring?: boolean;
};

/** The reasons that lie in the node itself, whatever it is to be retired for. */
function nodeBlocks(view: NodeView, options: EligibilityOptions): readonly DisruptionNote[] {
  if (view.node === undefined) return [note('node-missing', 'Nodeclaim does not have an associated node', { claim: view.claim.name })];
  if (isEnding(view, options)) return [note('node-deleting', 'Node is deleting or marked for deletion', { node: view.node.name })];
  if (!isInitialized(view)) return [note('node-not-initialized', 'Node isn\'t initialized', { node: view.node.name })];
  if (view.node.annotations[annotations.doNotDisrupt] === 'true' || view.claim.annotations[annotations.doNotDisrupt] === 'true') {
    return [note('node-protected', 'Disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation', { node: view.node.name })];
  }
  const promised = livePromises(view, options.podOf, options.nowMs);
  return promised.length === 0 ? [] : [note('node-promised', 'Node is nominated for a pending pod', { node: view.node.name, pods: promised.length, first: promised[0] ?? '' })];
}

/**
 * Why a node may not be disrupted gracefully now; empty when it may. Graceful means empty, drifted or under-used nodes: expiry,
 * interruptions and deletion by the user do not ask. The first reason in the node comes alone, else each pod's.
 */
export function disruptionBlocks(view: NodeView, options: EligibilityOptions): readonly DisruptionNote[] {
  const own = nodeBlocks(view, options);
  if (own.length > 0) return own;
  return view.pods.filter((pod) => !isTerminal(pod)).toSorted((a, b) => byText(a.namespace, b.namespace) || byText(a.name, b.name) || byText(a.uid, b.uid))
    .flatMap((pod) => podBlocks(pod, options.budgetsOf(pod), options.nowMs));
}
