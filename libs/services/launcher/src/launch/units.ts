import type { NodeClaim } from '@dovetail/core-api';
import { at } from '@dovetail/core-invariant';
import { groupBy } from '@dovetail/service-kit';

import { type CarriedIntent, carriedIntent, intentIdOf } from './intent.js';
import type { IntentHead, UnpairedClaims } from './unpaired-claims.js';

/** A piece of launch work for claims without instances. */
export type LaunchUnit =
  /** An intent in force that is not settled: find out its outcome. */
  | {
      readonly kind: 'resolve';
      readonly carried: CarriedIntent<IntentHead>;
      readonly claims: readonly NodeClaim[];
    }
  /**
   * Equal claims for which nothing was sent. `superseded`: intents that they still carry, to be
   * looked up first.
   */
  | {
      readonly kind: 'launch';
      readonly claims: readonly NodeClaim[];
      readonly attempt: number;
      readonly superseded: readonly string[];
    };

/** The claims, and the facts about them that the work follows from. */
export type UnitsInput = {
  readonly unpaired: Pick<UnpairedClaims, 'all' | 'headOf' | 'equalityKeyOf'>;
  readonly claimByName: (name: string) => NodeClaim | undefined;
  /** Whether an intent's outcome is written down: its unpaired claims may then be launched anew. */
  readonly isSettled: (intentId: string) => boolean;
  /** Whether a claim is being worked on, or waits for its next attempt. */
  readonly isHeldBack: (claim: NodeClaim) => boolean;
  /**
   * Whether nothing may be bought for a claim any more. A purchase in progress is still resolved.
   */
  readonly isVoid: (claim: NodeClaim) => boolean;
  readonly membersMax: number;
};

/**
 * The launch work that follows from the claims alone, so that it is the same after a crash.
 *
 * Invariant: a claim is in at most one unit, and a launch has at most `membersMax` claims.
 */
export function launchUnits(input: UnitsInput): readonly LaunchUnit[] {
  const resolving: LaunchUnit[] = [];
  const fresh: NodeClaim[] = [];
  for (const [id, claims] of groupBy(input.unpaired.all(), (claim) => intentIdOf(claim) ?? '')) {
    const carried = id === '' || input.isSettled(id) ? undefined : carriedBy(claims, input);
    if (carried?.inForce === true) {
      if (!claims.some(input.isHeldBack)) resolving.push({ kind: 'resolve', carried, claims });
    } else {
      fresh.push(
        ...claims.filter(
          (claim) =>
            claim.deletionMs === undefined && !input.isHeldBack(claim) && !input.isVoid(claim),
        ),
      );
    }
  }
  return [...resolving, ...freshUnits(fresh, input)];
}

function carriedBy(
  claims: readonly NodeClaim[],
  input: UnitsInput,
): CarriedIntent<IntentHead> | undefined {
  const intent = input.unpaired.headOf(at(claims, 0));
  return intent === undefined ? undefined : carriedIntent(intent, input.claimByName);
}

function freshUnits(fresh: readonly NodeClaim[], input: UnitsInput): readonly LaunchUnit[] {
  const units: LaunchUnit[] = [];
  for (const alike of groupBy(
    fresh,
    (claim) => `${input.unpaired.equalityKeyOf(claim)} ${attemptOf(claim, input)}`,
  ).values()) {
    for (let from = 0; from < alike.length; from += input.membersMax) {
      const claims = alike.slice(from, from + input.membersMax);
      const superseded = [...new Set(claims.flatMap((claim) => intentIdOf(claim) ?? []))]
        .filter((id) => !input.isSettled(id))
        .sort();
      units.push({ kind: 'launch', claims, attempt: attemptOf(at(claims, 0), input), superseded });
    }
  }
  return units;
}

/** One more than the attempt that the claim carries. */
const attemptOf = (claim: NodeClaim, input: UnitsInput): number =>
  (input.unpaired.headOf(claim)?.attempt ?? 0) + 1;
