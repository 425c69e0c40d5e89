import { poolKey } from '@dovetail/core-api';
import { assert } from '@dovetail/core-invariant';

import { bestFirst, type Candidate } from './candidates.js';

/** The most nodes that one command may give up (Karpenter's limit of multi-node consolidation). */
const nodesMax = 100;

/**
 * The nodes that may go together, the most money per disruption first. Each pool gives up no more
 * than its budget allows. They are searched by prefixes of this order.
 */
export function togetherInOrder(
  candidates: readonly Candidate[],
  allowed: ReadonlyMap<string, number>,
): readonly Candidate[] {
  const taken = new Map<string, number>();
  const within = candidates.toSorted(bestFirst).filter(({ view }) => {
    const key = poolKey(view.pool.identity);
    const count = taken.get(key) ?? 0;
    if (count >= (allowed.get(key) ?? 0)) return false;
    taken.set(key, count + 1);
    return true;
  });
  return within.slice(0, nodesMax);
}

/**
 * A binary search for the longest prefix of nodes that can go together (Karpenter's). Two nodes are
 * the shortest: one alone is not for this search. Invariant: prefixes of `sizeMin` to `sizeMax`
 * nodes are not decided yet.
 */
export type PrefixSearch = { readonly sizeMin: number; readonly sizeMax: number };

/** The search over this many nodes. */
export const prefixesOf = (nodes: number): PrefixSearch => ({ sizeMin: 2, sizeMax: nodes });

/** The size of the prefix to judge next; undefined when the search has ended. */
export const nextSize = ({ sizeMin, sizeMax }: PrefixSearch): number | undefined =>
  sizeMin > sizeMax ? undefined : Math.floor((sizeMin + sizeMax) / 2);

/**
 * The search after the prefix of this size was judged. If it can go, only longer ones are worth a
 * look. If not, only shorter ones are.
 */
export function afterJudging(
  { sizeMin, sizeMax }: PrefixSearch,
  { size, canGo }: { readonly size: number; readonly canGo: boolean },
): PrefixSearch {
  assert(size >= sizeMin && size <= sizeMax, 'a prefix is judged once');
  return canGo ? { sizeMin: size + 1, sizeMax } : { sizeMin, sizeMax: size - 1 };
}
