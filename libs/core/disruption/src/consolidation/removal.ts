import type { Placement, Plan } from '@dovetail/core-scheduling';

import { type DisruptionNote, note } from '../refusal.js';
import { isEnding, isInitialized, type NodeView } from '../view.js';
import { type Candidate, consolidatableMs } from './candidates.js';
import { type Command, commandOf, type JudgedPosition, type PodMove } from './command.js';

/** A solver's plan for the pods of a candidate, and the state that it is based on. */
export type WhatIf = { readonly plan: Plan; readonly position: JudgedPosition };

/** The outcome of judging a candidate: a command, or the reason why its node stays. */
export type Judged =
  | { readonly kind: 'command'; readonly command: Command }
  | { readonly kind: 'stays'; readonly note: DisruptionNote };

/**
 * The UIDs of nodes and claims that no pod may be moved to for money: those that end, are not
 * initialised, or are still inside `consolidateAfter` (Karpenter's rules).
 */
export function unsettledUids(views: readonly NodeView[], nowMs: number): ReadonlySet<string> {
  return new Set(
    views
      .filter(
        (view) =>
          view.node === undefined ||
          isEnding(view) ||
          !isInitialized(view) ||
          (consolidatableMs(view) ?? nowMs) > nowMs,
      )
      .flatMap(({ claim, node }) => (node === undefined ? [claim.uid] : [claim.uid, node.uid])),
  );
}

/**
 * Judges whether a node can go without another being bought: each of its pods has a place on a node
 * that stays and has settled.
 */
export function judgeRemoval(
  candidate: Candidate,
  { plan, position }: WhatIf,
  unsettled: ReadonlySet<string>,
): Judged {
  const placed = new Map(
    plan.placements.flatMap((to) => to.podUids.map((uid): [string, Placement] => [uid, to])),
  );
  const { node } = candidate.view;
  if (plan.newNodes.length > 0) {
    const count = String(plan.newNodes.length);
    const message = `Can't remove without creating ${count} candidates`;
    return { kind: 'stays', note: note('needs-new-node', message, { newNodes: count }) };
  }
  const moves: PodMove[] = [];
  for (const { uid, namespace, name } of candidate.pods) {
    const to = placed.get(uid);
    if (to === undefined) return stays(`pod ${namespace}/${name} fits on no other node`, uid);
    if (unsettled.has(to.nodeUid) || to.nodeUid === node.uid)
      return stays(`pod ${namespace}/${name} fits only on ${to.nodeName}, which is too new`, uid);
    const place = { kind: 'node', nodeName: to.nodeName, nodeUid: to.nodeUid } as const;
    moves.push({ podUid: uid, namespace, name, fromNodeUid: node.uid, to: place });
  }
  return { kind: 'command', command: removalOf(candidate, moves, position) };
}

const stays = (message: string, podUid: string): Judged => ({
  kind: 'stays',
  note: note('pods-without-place', message, { podUid }),
});

function removalOf(
  { view: { node, claim, pool }, priceMicrosPerHour, disruptionCost }: Candidate,
  moves: readonly PodMove[],
  position: JudgedPosition,
): Command {
  const out = {
    nodeUid: node.uid,
    nodeName: node.name,
    claimUid: claim.uid,
    claimName: claim.name,
    pool: pool.identity,
    priceMicrosPerHour,
  };
  return commandOf({
    cause: 'underutilized',
    nodesOut: [out],
    nodesIn: [],
    moves,
    disruptionCost,
    position,
  });
}
