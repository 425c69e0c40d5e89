import { evictionCost, isReschedulable, type Pod } from '@dovetail/core-kube-model';
import { note, type DisruptionNote } from './refusal.js';
import { conditionTrueSinceMs, type NodeView } from './view.js';

/** The annotation on a NodeClaim that says since when its node has been seen empty: the countdown survives any crash. RFC 3339. */
export const emptySinceAnnotation = 'dovetail.sh/empty-since';

/** The pods that keep a node from being empty: they would need another place, and moving them costs something. */
export const podsThatCount = (pods: readonly Pod[]): readonly Pod[] => pods.filter((pod) => isReschedulable(pod) && evictionCost(pod) > 0);

/** What emptiness says of a node. `mark` and `unmark` ask the reaper to keep the annotation true before anything is decided on it. */
export type Emptiness =
  | { readonly kind: 'occupied'; readonly note: DisruptionNote; readonly unmark: boolean }
  | { readonly kind: 'mark'; readonly sinceMs: number }
  | { readonly kind: 'disabled'; readonly note: DisruptionNote }
  | { readonly kind: 'counting'; readonly note: DisruptionNote; readonly dueMs: number }
  | { readonly kind: 'due'; readonly note: DisruptionNote; readonly sinceMs: number };

const timeOf = (text: string | undefined): number | undefined => {
  const ms = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
};

/**
 * Where a node stands with respect to emptiness. Empty is a node without a reschedulable pod of positive eviction cost, under
 * every consolidation policy (Karpenter deletes empty nodes under each). The countdown of `consolidateAfter`, or a Provisioner's
 * `ttlSecondsAfterEmpty`, runs from the latest of: the node was initialised, a pod last came or went, the node was first seen
 * empty. A pod that comes stops it, because the node is then occupied and the mark is taken away.
 */
export function emptinessOf(view: NodeView, nowMs: number): Emptiness {
  const { claim, pool, pods } = view;
  const marked = timeOf(claim.annotations[emptySinceAnnotation]);
  const counting = podsThatCount(pods);
  const first = counting[0];
  if (first !== undefined) {
    return { kind: 'occupied', unmark: claim.annotations[emptySinceAnnotation] !== undefined, note: note('not-empty', `${String(counting.length)} pods need this node`, { pods: counting.length, first: `${first.namespace}/${first.name}` }) };
  }
  const afterMs = pool?.disruption.consolidateAfterMs;
  if (pool === undefined || afterMs === undefined) return { kind: 'disabled', note: note('disruption-disabled', pool === undefined ? 'the pool is gone' : 'consolidateAfter is Never: empty nodes stay', {}) };
  if (marked === undefined) return { kind: 'mark', sinceMs: nowMs };
  const sinceMs = Math.max(marked, claim.lastPodEventMs ?? 0, conditionTrueSinceMs(claim, 'Initialized') ?? 0);
  const dueMs = sinceMs + afterMs;
  const values = { emptySeconds: Math.floor((nowMs - sinceMs) / 1000), afterSeconds: Math.floor(afterMs / 1000) };
  if (nowMs < dueMs) return { kind: 'counting', dueMs, note: note('countdown', `empty for ${String(values.emptySeconds)} s of ${String(values.afterSeconds)} s`, values) };
  return { kind: 'due', sinceMs, note: note('empty', `empty for ${String(values.emptySeconds)} s, limit ${String(values.afterSeconds)} s`, values) };
}
