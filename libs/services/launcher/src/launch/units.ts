import { annotations, type NodeClaim } from '@dovetail/core-api';
import { at } from '@dovetail/core-invariant';
import { compareText } from '@dovetail/core-kube-model';
import { groupBy } from '@dovetail/service-kit';

import {
  type CarriedIntent,
  carriedIntent,
  intentIdOf,
  isUnpaired,
  parseIntent,
} from './intent.js';
import { equalityKey } from './request.js';

/** A piece of launch work for claims without instances. */
export type LaunchUnit =
  /** An intent in force that is not settled: find out its outcome. */
  | {
      readonly kind: 'resolve';
      readonly carried: CarriedIntent;
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
  readonly claims: Iterable<NodeClaim>;
  readonly claimByName: (name: string) => NodeClaim | undefined;
  readonly sha256Hex: (text: string) => string;
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
  const unpaired = [...input.claims].filter(isUnpaired).sort((a, b) => compareText(a.name, b.name));
  const resolving: LaunchUnit[] = [];
  const fresh: NodeClaim[] = [];
  for (const [id, claims] of groupBy(unpaired, (claim) => intentIdOf(claim) ?? '')) {
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

function carriedBy(claims: readonly NodeClaim[], input: UnitsInput): CarriedIntent | undefined {
  const intent = parseIntent(claims[0]?.annotations[annotations.launchIntent], input.sha256Hex);
  return intent === undefined ? undefined : carriedIntent(intent, input.claimByName);
}

function freshUnits(fresh: readonly NodeClaim[], input: UnitsInput): readonly LaunchUnit[] {
  const units: LaunchUnit[] = [];
  for (const alike of groupBy(
    fresh,
    (claim) => `${equalityKey(claim)} ${attemptOf(claim, input)}`,
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
  (parseIntent(claim.annotations[annotations.launchIntent], input.sha256Hex)?.attempt ?? 0) + 1;
