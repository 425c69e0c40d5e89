import type { NodeClaim } from '@dovetail/core-api';
import { compareText } from '@dovetail/core-kube-model';

import { type DisruptionNote, note } from '../facts/refusal.js';
import { conditionTrueSinceMs } from '../facts/view.js';

/**
 * The limits for claims that lost their Node object. They trade what a node costs that takes no
 * pods against ending nodes because of a wrong list.
 */
export type GhostLimits = {
  /** A node may be missing for this long: kubelets register again, and watches are late. */
  readonly nodeMissingMinMs: number;
  /**
   * With more than this share of the claims without a node, or ended on a guess within an hour, the
   * list of nodes is doubted,
   */
  readonly fleetShareMax: number;
  /** unless these are no more than so many. */
  readonly alwaysAllowed: number;
};

/** Everything that tells which claims have lost their node. */
export type GhostInput = {
  readonly claims: readonly NodeClaim[];
  readonly hasNode: (claim: NodeClaim) => boolean;
  readonly nowMs: number;
  readonly limits: GhostLimits;
  /** Since when each claim was seen without its node, by UID, from the pass before. */
  readonly sinceMs: ReadonlyMap<string, number>;
  /** When claims were ended on a guess, by UID. Those of the last hour count against the limit. */
  readonly endedMs: ReadonlyMap<string, number>;
};

/** The claims to end, each after the Node was asked for by name, and what the next pass needs. */
export type Ghosts = {
  readonly end: readonly NodeClaim[];
  readonly brakes: readonly DisruptionNote[];
  readonly sinceMs: ReadonlyMap<string, number>;
  /** The times of the last hour, with those of the claims to end now. */
  readonly endedMs: ReadonlyMap<string, number>;
};

const hourMs = 3_600_000;

const isRegistered = (claim: NodeClaim): boolean =>
  claim.deletionMs === undefined && conditionTrueSinceMs(claim, 'Registered') !== undefined;

/**
 * Finds claims whose Node object is gone although their instance runs: somebody took the finalizer
 * off, and no kubelet registers again. Such a node takes no pods and would cost money until it
 * expires.
 */
export function planGhosts(input: GhostInput): Ghosts {
  const { nowMs, limits } = input;
  const registered = input.claims.filter(isRegistered);
  const ghosts = registered
    .filter((claim) => !input.hasNode(claim))
    .toSorted((a, b) => compareText(a.name, b.name));
  const sinceMs = new Map(ghosts.map(({ uid }) => [uid, input.sinceMs.get(uid) ?? nowMs]));
  const isDue = ({ uid }: NodeClaim): boolean =>
    nowMs - (sinceMs.get(uid) ?? nowMs) >= limits.nodeMissingMinMs;
  const due = ghosts.filter(isDue);
  const allowed = Math.max(
    limits.alwaysAllowed,
    Math.floor(registered.length * limits.fleetShareMax),
  );
  const ended = new Map([...input.endedMs].filter(([, atMs]) => nowMs - atMs < hourMs));
  const wanted = new Set([...ended.keys(), ...ghosts.map(({ uid }) => uid)]).size;
  if (due.length === 0 || wanted <= allowed) {
    const endedMs = new Map([...ended, ...due.map(({ uid }) => [uid, nowMs] as const)]);
    return { end: due, brakes: [], sinceMs, endedMs };
  }
  const fleet = registered.length;
  const message = `${String(wanted)} of ${String(fleet)} NodeClaims have lost their Node or were ended within an hour, over the limit of ${String(allowed)}: none is ended`;
  const values = { what: 'claims without a node', wanted, fleet, allowed };
  return { end: [], brakes: [note('collection-brake', message, values)], sinceMs, endedMs: ended };
}
