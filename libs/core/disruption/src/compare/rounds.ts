import type { NodeClaim } from '@dovetail/core-api';
import { instanceIdOf } from '@dovetail/core-cluster';

import { expiryOf } from '../causes/expiry.js';

/**
 * Why another autoscaler ends a node: Karpenter's reasons, `Expired` for a claim that is due, and
 * `Other` for an interruption, a repair or a person.
 */
export type EndReason = 'Empty' | 'Underutilized' | 'Drifted' | 'Expired' | 'Other';

/** A claim whose end has begun. */
type EndedClaim = { readonly claimUid: string; readonly reason: EndReason };

/**
 * The claims that another autoscaler made, and those whose end it began, in one go. Karpenter makes
 * the claims of one scheduling pass within moments, and replacements at once with the end of nodes.
 */
export type Round = {
  readonly beganMs: number;
  readonly lastMs: number;
  /** UIDs of claims. */
  readonly launched: readonly string[];
  readonly ended: readonly EndedClaim[];
};

const commandReasons: ReadonlySet<string> = new Set(['Empty', 'Underutilized', 'Drifted']);

/** Why the claim ends; undefined while it does not. Karpenter's condition comes before the end. */
export function endReasonOf(claim: NodeClaim, nowMs: number): EndReason | undefined {
  const command = claim.conditions.find(
    ({ type, status }) => type === 'DisruptionReason' && status === 'True',
  );
  if (command !== undefined)
    return commandReasons.has(command.reason) ? (command.reason as EndReason) : 'Other';
  if (claim.deletionMs === undefined) return undefined;
  return expiryOf({ claim }, nowMs).kind === 'due' ? 'Expired' : 'Other';
}

/**
 * Gathers claims that come and go into rounds. It is level-triggered: each look gets all claims as
 * they are, so that a missed look only delays.
 */
export class Rounds {
  readonly #gatherMs: number;
  /** UIDs of claims that were seen, with those whose end was told. */
  readonly #seen = new Map<string, { ended: boolean }>();
  #begun = false;
  #open: Round | undefined;

  /** A round is complete once nothing was added to it for `gatherMs`. */
  constructor(options: { readonly gatherMs: number }) {
    this.#gatherMs = options.gatherMs;
  }

  /** The round that is complete now, if there is one. Claims of the first look are history. */
  look(claims: readonly NodeClaim[], nowMs: number): Round | undefined {
    this.#take(claims, nowMs);
    const open = this.#open;
    if (open === undefined || nowMs - open.lastMs < this.#gatherMs) return undefined;
    this.#open = undefined;
    return open;
  }

  /**
   * Like `look`, after a time without watches: what is new is left out of later rounds. Returns
   * it as one round, with what had begun before; undefined if nothing is new.
   */
  skip(claims: readonly NodeClaim[], nowMs: number): Round | undefined {
    this.#take(claims, nowMs);
    const skipped = this.#open;
    this.#open = undefined;
    return skipped;
  }

  #take(claims: readonly NodeClaim[], nowMs: number): void {
    this.#forgetGone(claims);
    for (const claim of claims) this.#see(claim, nowMs);
    this.#begun = true;
  }

  #see(claim: NodeClaim, nowMs: number): void {
    const reason = endReasonOf(claim, nowMs);
    const known = this.#seen.get(claim.uid);
    if (known === undefined) {
      this.#seen.set(claim.uid, { ended: reason !== undefined });
      if (this.#begun && reason === undefined) this.#add({ launched: [claim.uid] }, nowMs);
      return;
    }
    if (known.ended || reason === undefined) return;
    known.ended = true;
    // A claim that never had an instance costs nothing, and no node goes with it.
    if (instanceIdOf(claim) !== undefined)
      this.#add({ ended: [{ claimUid: claim.uid, reason }] }, nowMs);
  }

  #add(more: Partial<Pick<Round, 'launched' | 'ended'>>, nowMs: number): void {
    const open = this.#open ?? { beganMs: nowMs, launched: [], ended: [] };
    this.#open = {
      beganMs: open.beganMs,
      lastMs: nowMs,
      launched: [...open.launched, ...(more.launched ?? [])],
      ended: [...open.ended, ...(more.ended ?? [])],
    };
  }

  #forgetGone(claims: readonly NodeClaim[]): void {
    const here = new Set(claims.map(({ uid }) => uid));
    for (const uid of this.#seen.keys()) if (!here.has(uid)) this.#seen.delete(uid);
  }
}
