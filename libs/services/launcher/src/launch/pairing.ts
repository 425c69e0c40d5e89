import type { NodeClaim } from '@dovetail/core-api';
import type { CapacityType } from '@dovetail/core-ec2-model';
import { instanceIdOf, isUnpaired } from './intent.js';

/** What is known of an instance when it is paired. */
export type LaunchedInstance = { readonly id: string; readonly instanceType: string; readonly zone: string; readonly capacityType: CapacityType; readonly imageId?: string };

export type Pairing = {
  readonly pairs: readonly { readonly claim: NodeClaim; readonly instance: LaunchedInstance }[];
  /** Claims that no instance is left for, youngest first: the order in which a shortage ends them. */
  readonly left: readonly NodeClaim[];
  /** Instances that no claim is left for; collection ends them. */
  readonly over: readonly LaunchedInstance[];
};

/**
 * Pairs instances with the claims of their intent: sorted with sorted, so that every attempt at pairing, by whoever, comes to the same
 * pairs. Claims that have an instance keep it. When there are too few, the oldest claims get theirs.
 */
export function pair(carriers: readonly NodeClaim[], instances: readonly LaunchedInstance[]): Pairing {
  const taken = new Set(carriers.flatMap((claim) => instanceIdOf(claim) ?? []));
  const free = instances.filter((instance) => !taken.has(instance.id)).sort((a, b) => (a.id < b.id ? -1 : 1));
  const waiting = carriers.filter(isUnpaired).sort(oldestFirst);
  const pairs = waiting.slice(0, free.length).map((claim, index) => ({ claim, instance: free[index] as LaunchedInstance }));
  return { pairs, left: waiting.slice(free.length).reverse(), over: free.slice(waiting.length) };
}

/** Claims that are being deleted come last: an instance for one of them would only be ended again. */
const oldestFirst = (a: NodeClaim, b: NodeClaim): number =>
  Number(a.deletionMs !== undefined) - Number(b.deletionMs !== undefined) || a.createdMs - b.createdMs || (a.name < b.name ? -1 : 1);
