import type { NewNode, Placement, Plan } from '@dovetail/core-scheduling';

import { consolidatableMs } from '../causes/consolidatable.js';
import { type DisruptionNote, note } from '../facts/refusal.js';
import { isEnding, isInitialized, type NodeView } from '../facts/view.js';
import type { Candidate } from './candidates.js';
import {
  type Command,
  commandOf,
  type Destination,
  type JudgedPosition,
  type NodeOut,
  type PodMove,
} from './command.js';

/** A solver's plan for the pods of a candidate, and the state that it is based on. */
export type WhatIf = { readonly plan: Plan; readonly position: JudgedPosition };

/** The price of moves. */
export type MoveRules = {
  /**
   * The move of an ordinary pod must save so many micro-dollars an hour. Absent: moves are free, as
   * for Karpenter.
   */
  readonly moveCostMicrosPerHour?: number;
};

/** The outcome of judging a candidate: a command, or the reason why its node stays. */
export type Judged =
  | { readonly kind: 'command'; readonly command: Command }
  | { readonly kind: 'stays'; readonly note: DisruptionNote };

/** Tells by its UID whether no pod may be moved to a node or claim for money. */
export type IsUnsettled = (uid: string) => boolean;

/**
 * Whether no pod may be moved to a node for money: it ends, is not initialised, or is still inside
 * `consolidateAfter` (Karpenter's rules).
 */
export const isUnsettled = (view: NodeView, nowMs: number): boolean =>
  view.node === undefined ||
  isEnding(view) ||
  !isInitialized(view) ||
  (consolidatableMs(view) ?? nowMs) > nowMs;

/** Tells which of these nodes, and of their claims, no pod may be moved to for money. */
export function unsettledAmong(views: readonly NodeView[], nowMs: number): IsUnsettled {
  const uids = new Set(
    views
      .filter((view) => isUnsettled(view, nowMs))
      .flatMap(({ claim, node }) => (node === undefined ? [claim.uid] : [claim.uid, node.uid])),
  );
  return (uid) => uids.has(uid);
}

/** The moves of all pods, or the reason why one of them cannot move. */
export type Moves =
  | { readonly kind: 'moves'; readonly moves: readonly PodMove[] }
  | Extract<Judged, { readonly kind: 'stays' }>;

/** Finds the place of each pod of the candidates in a plan. Each place has settled, or is new. */
export function movesOf(
  candidates: readonly Candidate[],
  { placements, newNodes }: Pick<Plan, 'newNodes' | 'placements'>,
  unsettled: IsUnsettled,
): Moves {
  const placed = new Map<string, Placement | NewNode>(
    [...placements, ...newNodes].flatMap((to) => to.podUids.map((uid) => [uid, to] as const)),
  );
  const going = new Set(candidates.map(({ view }) => view.node.uid));
  const moves: PodMove[] = [];
  for (const { view, pods } of candidates)
    for (const { uid, namespace, name } of pods) {
      const to = placed.get(uid);
      if (to === undefined)
        return withoutPlace(`pod ${namespace}/${name} fits on no other node`, uid);
      const isTaken = 'nodeUid' in to && (unsettled(to.nodeUid) || going.has(to.nodeUid));
      if (isTaken)
        return withoutPlace(
          `pod ${namespace}/${name} fits only on ${to.nodeName}, which is too new`,
          uid,
        );
      moves.push({ podUid: uid, namespace, name, fromNodeUid: view.node.uid, to: placeOf(to) });
    }
  return { kind: 'moves', moves };
}

const placeOf = (to: Placement | NewNode): Destination =>
  'nodeUid' in to
    ? { kind: 'node', nodeName: to.nodeName, nodeUid: to.nodeUid }
    : { kind: 'bin', binId: to.id };

const withoutPlace = (
  message: string,
  podUid: string,
): Extract<Judged, { readonly kind: 'stays' }> => ({
  kind: 'stays',
  note: note('pods-without-place', message, { podUid }),
});

/**
 * Judges whether a node can go without another being bought: each of its pods has a place on a node
 * that stays and has settled.
 */
export function judgeRemoval(
  candidate: Candidate,
  { plan, position }: WhatIf,
  unsettled: IsUnsettled,
  rules: MoveRules,
): Judged {
  if (plan.newNodes.length > 0) return needsNewNodes(plan.newNodes.length);
  const found = movesOf([candidate], plan, unsettled);
  if (found.kind === 'stays') return found;
  return worthItsMoves(removalOf([candidate], found.moves, position), [candidate], rules);
}

/**
 * A command that saves less than its moves cost is none. A removal of nodes of unknown price is
 * one: it costs nothing, and how much it saves is not known.
 */
export function worthItsMoves(
  command: Command,
  candidates: readonly Candidate[],
  rules: MoveRules,
): Judged {
  const isUnpriced = candidates.some(({ priceMicrosPerHour }) => priceMicrosPerHour === 0);
  if (isUnpriced && command.nodesIn.length === 0) return { kind: 'command', command };
  const saved = command.priceBeforeMicrosPerHour - command.priceAfterMicrosPerHour;
  const cost = priceOfMoves(candidates, rules);
  if (saved >= cost) return { kind: 'command', command };
  const pods = command.moves.length;
  const message = `the saving of ${dollarText(saved)} an hour is less than the cost of its moves, ${dollarText(cost)} (pods: ${String(pods)})`;
  const values = { savedMicrosPerHour: saved, moveCostMicrosPerHour: cost, pods };
  return { kind: 'stays', note: note('not-worthwhile', message, values) };
}

const dollarText = (micros: number): string => `$${(micros / 1e6).toFixed(4)}`;

/** The cost of moving all pods of these nodes, in moves of an ordinary pod. */
export const moveCostOfAll = (candidates: readonly Pick<Candidate, 'moveCost'>[]): number =>
  candidates.reduce((sum, { moveCost }) => sum + moveCost, 0);

/** The same in micro-dollars an hour: what they save must not be less. */
export const priceOfMoves = (
  candidates: readonly Pick<Candidate, 'moveCost'>[],
  { moveCostMicrosPerHour = 0 }: MoveRules,
): number => Math.round(moveCostMicrosPerHour * moveCostOfAll(candidates));

/** The note that nodes would have to be bought, in Karpenter's words. */
export const needsNewNodes = (count: number): Extract<Judged, { readonly kind: 'stays' }> => ({
  kind: 'stays',
  note: note('needs-new-node', `Can't remove without creating ${String(count)} candidates`, {
    newNodes: count,
  }),
});

/** The command that gives up these nodes and buys none. */
export const removalOf = (
  candidates: readonly Candidate[],
  moves: readonly PodMove[],
  position: JudgedPosition,
): Command =>
  commandOf({
    cause: 'underutilized',
    nodesOut: candidates.map(nodeOutOf),
    nodesIn: [],
    moves,
    disruptionCost: costOfAll(candidates),
    position,
  });

/** The cost of disrupting all of these nodes. */
export const costOfAll = (candidates: readonly Candidate[]): number =>
  candidates.reduce((sum, { disruptionCost }) => sum + disruptionCost, 0);

/** The candidate as a command names it. */
export const nodeOutOf = ({ view, priceMicrosPerHour }: Candidate): NodeOut => ({
  nodeUid: view.node.uid,
  nodeName: view.node.name,
  claimUid: view.claim.uid,
  claimName: view.claim.name,
  pool: view.pool.identity,
  priceMicrosPerHour,
});
