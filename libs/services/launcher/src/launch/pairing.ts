import type { NodeClaim } from '@dovetail/core-api';
import { instanceIdOf, isUnpaired } from '@dovetail/core-cluster';
import type { CapacityType } from '@dovetail/core-ec2-model';
import { at } from '@dovetail/core-invariant';
import { compareText } from '@dovetail/core-kube-model';

/** The facts of an instance that its pairing needs. */
export type LaunchedInstance = {
  readonly id: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityType;
  readonly imageId?: string;
};

/** The instances of an intent, divided over its claims. */
export type Pairing = {
  readonly pairs: readonly { readonly claim: NodeClaim; readonly instance: LaunchedInstance }[];
  /** Claims without an instance, youngest first: the order in which a shortage ends them. */
  readonly left: readonly NodeClaim[];
  /** Instances without a claim; collection ends them. */
  readonly over: readonly LaunchedInstance[];
};

/**
 * Pairs instances with the claims of their intent, both sorted, so that a successor comes to the
 * same pairs. Of too few instances the oldest claims get theirs.
 *
 * Invariant: a paired claim keeps its instance, and no instance goes to two claims.
 */
export function pair(
  carriers: readonly NodeClaim[],
  instances: readonly LaunchedInstance[],
): Pairing {
  const taken = new Set(carriers.flatMap((claim) => instanceIdOf(claim) ?? []));
  const free = instances
    .filter((instance) => !taken.has(instance.id))
    .sort((a, b) => compareText(a.id, b.id));
  const waiting = carriers.filter(isUnpaired).sort(oldestFirst);
  const pairs = waiting
    .slice(0, free.length)
    .map((claim, index) => ({ claim, instance: at(free, index) }));
  return { pairs, left: waiting.slice(free.length).reverse(), over: free.slice(waiting.length) };
}

/** Claims that are being deleted come last: the reaper would end their instance at once. */
const oldestFirst = (a: NodeClaim, b: NodeClaim): number =>
  Number(a.deletionMs !== undefined) - Number(b.deletionMs !== undefined) ||
  a.createdMs - b.createdMs ||
  compareText(a.name, b.name);
