import { annotations, type NodeClaim } from '@dovetail/core-api';
import { compareCodeUnits } from '@dovetail/core-ec2-model';
import { groupBy } from '../loop/group-by.js';
import { carriedIntent, intentIdOf, isUnpaired, parseIntent, type CarriedIntent } from './intent.js';
import { equalityKey } from './request.js';

/** What there is to do for claims without instances. */
export type LaunchUnit =
  /** An intent is in force and not settled: its outcome is to be learnt, by sending it (again) or looking it up. */
  | { readonly kind: 'resolve'; readonly carried: CarriedIntent; readonly claims: readonly NodeClaim[] }
  /** Equal claims that nothing was sent for: a new intent. `superseded`: intents that some of them still carry, to be looked up first. */
  | { readonly kind: 'launch'; readonly claims: readonly NodeClaim[]; readonly attempt: number; readonly superseded: readonly string[] };

export type UnitsInput = {
  readonly claims: Iterable<NodeClaim>;
  readonly claimByName: (name: string) => NodeClaim | undefined;
  readonly sha256Hex: (text: string) => string;
  /** Intents whose outcome is known and written down: what they left unpaired may be launched anew. */
  readonly isSettled: (intentId: string) => boolean;
  /** Claims that somebody works on, or that wait for their next attempt. */
  readonly isHeldBack: (claim: NodeClaim) => boolean;
  /** Claims that nothing new may be bought for; what may have been bought already is still learnt. */
  readonly isVoid: (claim: NodeClaim) => boolean;
  readonly membersMax: number;
};

/** The work there is, derived from the claims alone: after a crash it comes out the same. */
export function launchUnits(input: UnitsInput): readonly LaunchUnit[] {
  const unpaired = [...input.claims].filter(isUnpaired).sort((a, b) => compareCodeUnits(a.name, b.name));
  const resolving: LaunchUnit[] = [];
  const fresh: NodeClaim[] = [];
  for (const [id, claims] of groupBy(unpaired, (claim) => intentIdOf(claim) ?? '')) {
    const carried = id === '' || input.isSettled(id) ? undefined : carriedBy(claims, input);
    if (carried?.inForce === true) {
      if (!claims.some(input.isHeldBack)) resolving.push({ kind: 'resolve', carried, claims });
    } else {
      fresh.push(...claims.filter((claim) => claim.deletionMs === undefined && !input.isHeldBack(claim) && !input.isVoid(claim)));
    }
  }
  return [...resolving, ...launching(fresh, input)];
}

function carriedBy(claims: readonly NodeClaim[], input: UnitsInput): CarriedIntent | undefined {
  const intent = parseIntent(claims[0]?.annotations[annotations.launchIntent], input.sha256Hex);
  return intent === undefined ? undefined : carriedIntent(intent, input.claimByName);
}

function launching(fresh: readonly NodeClaim[], input: UnitsInput): readonly LaunchUnit[] {
  const units: LaunchUnit[] = [];
  for (const alike of groupBy(fresh, (claim) => `${equalityKey(claim)} ${attemptOf(claim, input)}`).values()) {
    for (let from = 0; from < alike.length; from += input.membersMax) {
      const claims = alike.slice(from, from + input.membersMax);
      const superseded = [...new Set(claims.flatMap((claim) => intentIdOf(claim) ?? []))].filter((id) => !input.isSettled(id)).sort();
      units.push({ kind: 'launch', claims, attempt: attemptOf(claims[0] as NodeClaim, input), superseded });
    }
  }
  return units;
}

/** One more than the last that the claim carries. */
const attemptOf = (claim: NodeClaim, input: UnitsInput): number =>
  (parseIntent(claim.annotations[annotations.launchIntent], input.sha256Hex)?.attempt ?? 0) + 1;
