import { type NodeClaim, tags } from '@dovetail/core-api';
import { compareText } from '@dovetail/core-kube-model';

import { type DisruptionNote, note } from '../facts/refusal.js';

/**
 * Whether a claim may end the instance that it names. A copy of a claim (a backup that was
 * restored, `kubectl get` and `apply`) names the instance of the original.
 */
export type Ownership =
  | { readonly kind: 'own' }
  /** The claim may go, and the instance stays. */
  | { readonly kind: 'of-another-claim'; readonly note: DisruptionNote }
  /** Nothing may be done: an operator has to look. */
  | { readonly kind: 'of-another-cluster'; readonly note: DisruptionNote };

/** Everything that tells whose an instance is. */
export type OwnershipFacts = {
  readonly claim: NodeClaim;
  readonly instanceId: string;
  /** Other claims that name the same instance. */
  readonly rivals: readonly NodeClaim[];
  /** The instance's tags as EC2 shows them; absent: it does not show the instance. */
  readonly tags?: Readonly<Record<string, string>>;
  /** The UID of this API server's kube-system namespace. */
  readonly clusterUid: string;
};

const oldestFirst = (a: NodeClaim, b: NodeClaim): number =>
  a.createdMs - b.createdMs || compareText(a.name, b.name) || compareText(a.uid, b.uid);

/** The owner among claims of one instance: the one that its tag names, else the oldest. */
export function ownerOf({
  claim,
  rivals,
  tags: held,
}: Pick<OwnershipFacts, 'claim' | 'rivals' | 'tags'>): NodeClaim {
  const all = [claim, ...rivals];
  const named = all.filter(({ name }) => name === held?.[tags.nodeClaim]);
  return [...(named.length > 0 ? named : all)].sort(oldestFirst)[0] ?? claim;
}

/**
 * Decides whose the instance is. Tags that are absent speak for nobody, since Karpenter's instances
 * carry no UID and young ones no claim.
 */
export function ownershipOf(facts: OwnershipFacts): Ownership {
  const { claim, instanceId, clusterUid } = facts;
  const theirs = facts.tags?.[tags.clusterUid];
  if (theirs !== undefined && theirs !== '' && theirs !== clusterUid) {
    const message = `${instanceId} carries the UID of another cluster, ${theirs}: it is not ended. If ${claim.name} is a copy, take its finalizer off`;
    const values = { instance: instanceId, theirs, ours: clusterUid };
    return {
      kind: 'of-another-cluster',
      note: note('instance-of-another-cluster', message, values),
    };
  }
  const owner = ownerOf(facts);
  if (owner === claim) return { kind: 'own' };
  const message = `${instanceId} belongs to ${owner.name}: it is not ended with ${claim.name}`;
  const values = { instance: instanceId, owner: owner.name };
  return { kind: 'of-another-claim', note: note('instance-of-another-claim', message, values) };
}
