import type { NodeClaim } from '@dovetail/core-api';
import { evictionCost, isReschedulable, type Pod } from '@dovetail/core-kube-model';

import { type DisruptionNote, note } from '../facts/refusal.js';
import { isInitialized, type NodeView } from '../facts/view.js';
import { disruptionBlocks } from '../rules/eligibility.js';
import { consolidatableMs } from './consolidatable.js';
import { type CauseFacts, type Standing } from './standing.js';

/**
 * On a NodeClaim: since when its node was seen empty, RFC 3339. With it the countdown survives a
 * crash.
 */
export const emptySinceAnnotation = 'dovetail.sh/empty-since';

/**
 * The pods that keep a node from being empty: they would need another place, and evicting them has
 * a cost.
 */
export const podsThatCount = (pods: readonly Pod[]): readonly Pod[] =>
  pods.filter((pod) => isReschedulable(pod) && evictionCost(pod) > 0);

/**
 * How far a node is on its way to being removed as empty. `mark` and `unmark` ask the reaper to
 * correct the annotation first.
 */
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

/** The nodes of a static pool are counted, and none of them is ended because it is empty. */
const isStatic = ({ pool }: Pick<NodeView, 'pool'>): boolean => pool?.replicas !== undefined;

/** Why no countdown runs: the pool is gone, or its consolidateAfter is Never. */
const disabled = (pool: NodeView['pool']): Emptiness => ({
  kind: 'disabled',
  note: note(
    'disruption-disabled',
    pool === undefined
      ? 'the pool is gone'
      : pool.replicas === undefined
        ? 'consolidateAfter is Never: empty nodes stay'
        : 'the pool has replicas: empty nodes stay',
    {},
  ),
});

const notInitialized = (claim: string): DisruptionNote =>
  note('node-not-initialized', "Node isn't initialized", { claim });

/** The countdown from `sinceMs`: still counting, or due. */
function countdown(sinceMs: number, afterMs: number, nowMs: number): Emptiness {
  const dueMs = sinceMs + afterMs;
  const emptySeconds = Math.floor((nowMs - sinceMs) / 1000);
  const afterSeconds = Math.floor(afterMs / 1000);
  const values = { emptySeconds, afterSeconds };
  if (nowMs < dueMs) {
    const message = `empty for ${String(emptySeconds)} s of ${String(afterSeconds)} s`;
    return { kind: 'counting', dueMs, note: note('countdown', message, values) };
  }
  const message = `empty for ${String(emptySeconds)} s, limit ${String(afterSeconds)} s`;
  return { kind: 'due', sinceMs, note: note('empty', message, values) };
}

/**
 * Says how far a node is on its way to being removed as empty. A node is empty when no
 * reschedulable pod with a positive eviction cost is on it. This holds under every consolidation
 * policy, because Karpenter deletes empty nodes under each.
 *
 * The countdown is `consolidateAfter`, or `ttlSecondsAfterEmpty` of a Provisioner. No node is due
 * before its claim is Consolidatable, which is Karpenter's gate. The countdown also runs from the
 * time at which the node was first seen empty, for pods that went while no reaper watched. A pod
 * that arrives stops it, because the mark of an occupied node is removed.
 */
export function emptinessOf(view: NodeView, nowMs: number): Emptiness {
  const { claim, pool, pods } = view;
  const mark = claim.annotations[emptySinceAnnotation];
  const counting = podsThatCount(pods);
  const [first] = counting;
  if (first !== undefined) {
    const values = { pods: counting.length, first: `${first.namespace}/${first.name}` };
    const message = `${String(counting.length)} pods need this node`;
    return {
      kind: 'occupied',
      unmark: mark !== undefined,
      note: note('not-empty', message, values),
    };
  }
  const afterMs = pool?.disruption.consolidateAfterMs;
  if (afterMs === undefined || isStatic(view)) return disabled(pool);
  const gateMs = consolidatableMs(view);
  if (gateMs === undefined) return { kind: 'disabled', note: notInitialized(claim.name) };
  const markedMs = timeOf(mark);
  if (markedMs === undefined) return { kind: 'mark', sinceMs: nowMs };
  return countdown(Math.max(markedMs, gateMs - afterMs), afterMs, nowMs);
}

/** Why a node that is being retired as empty is needed again; undefined: it is not. */
export function emptinessOver({ pods }: Pick<NodeView, 'pods'>): DisruptionNote | undefined {
  const counting = podsThatCount(pods);
  const [first] = counting;
  if (first === undefined) return undefined;
  return note('not-empty', `${String(counting.length)} pods came before the taint`, {
    pods: counting.length,
    first: `${first.namespace}/${first.name}`,
  });
}

/** How a node stands for emptiness. */
export function emptyStanding(view: NodeView, facts: CauseFacts): Standing {
  const emptiness = emptinessOf(view, facts.nowMs);
  switch (emptiness.kind) {
    case 'occupied':
    case 'disabled':
      return { kind: 'stays', notes: [emptiness.note] };
    case 'mark':
      return { kind: 'later', notes: [note('countdown', 'it was just seen empty')] };
    case 'counting':
      return { kind: 'later', dueMs: emptiness.dueMs, notes: [emptiness.note] };
    case 'due': {
      const held = disruptionBlocks(view, facts);
      return { kind: 'due', sinceMs: emptiness.sinceMs, note: emptiness.note, held };
    }
  }
}

/** The claims whose annotation does not say whether their node is empty. */
export type EmptyMarks = {
  /** Their node was seen empty for the first time. The countdown begins with the annotation. */
  readonly mark: readonly NodeClaim[];
  /** Their node is no longer empty. */
  readonly unmark: readonly NodeClaim[];
};

/** Compares the annotation of every usable node that is not ending with what is on it. */
export function emptyMarks(views: readonly NodeView[], nowMs: number): EmptyMarks {
  const mark: NodeClaim[] = [];
  const unmark: NodeClaim[] = [];
  for (const view of views) {
    if (view.node === undefined || !isInitialized(view)) continue;
    const emptiness = emptinessOf(view, nowMs);
    if (emptiness.kind === 'mark') mark.push(view.claim);
    if (emptiness.kind === 'occupied' && emptiness.unmark) unmark.push(view.claim);
  }
  return { mark, unmark };
}
