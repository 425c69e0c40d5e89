import { compareText } from '@dovetail/core-kube-model';
import { RandomNumbers } from '@dovetail/core-scheduling';

import type { Candidate } from './candidates.js';

/**
 * How many nodes are tried together, in this order. Large groups find the larger savings, small
 * ones find places for the last nodes. Still larger ones are repacked as regions.
 */
const sizes = [8, 3, 1] as const;

/** The cores that the pods of a node request, in millicores. */
const usedOf = ({ pods }: Candidate): number =>
  pods.reduce((sum, { requests }) => sum + (requests['cpu'] ?? 0), 0);

/** The price of a node per core that its pods request. A node without such pods comes first. */
export const pricePerUsed = (candidate: Candidate): number =>
  candidate.priceMicrosPerHour / Math.max(1, usedOf(candidate));

const byName = (a: Candidate, b: Candidate): number =>
  compareText(a.view.node.uid, b.view.node.uid);

/** The worst price per used core first. */
export const worstFirst = (candidates: readonly Candidate[]): readonly Candidate[] =>
  candidates.toSorted((a, b) => pricePerUsed(b) - pricePerUsed(a) || byName(a, b));

const emptiestFirst = (candidates: readonly Candidate[]): readonly Candidate[] =>
  candidates.toSorted((a, b) => usedOf(a) - usedOf(b) || byName(a, b));

function shuffled(candidates: readonly Candidate[], random: RandomNumbers): readonly Candidate[] {
  const mixed = candidates.toSorted(byName);
  for (let left = mixed.length - 1; left > 0; left -= 1) {
    const other = random.below(left + 1);
    const [a, b] = [mixed[left], mixed[other]];
    if (a !== undefined && b !== undefined) [mixed[left], mixed[other]] = [b, a];
  }
  return mixed;
}

/**
 * The groups of nodes that one round tries to give up together. Each order of the nodes is cut into
 * runs of each size: the worst price per used core first, the emptiest first, and a random order.
 * The groups are finite: each order and size names each node once.
 */
export function neighbourhoodsOf(
  candidates: readonly Candidate[],
  seed: number,
): readonly (readonly Candidate[])[] {
  const random = new RandomNumbers(seed);
  const seen = new Set<string>();
  return sizes.flatMap((size) => {
    const orders = [worstFirst(candidates), emptiestFirst(candidates)];
    if (size > 1) orders.push(shuffled(candidates, random));
    return orders
      .flatMap((order) => runsOf(order, size))
      .filter((run) => {
        const key = run
          .map(({ view }) => view.node.uid)
          .sort(compareText)
          .join(' ');
        return !seen.has(key) && seen.add(key);
      });
  });
}

const runsOf = (order: readonly Candidate[], size: number): readonly (readonly Candidate[])[] =>
  Array.from({ length: Math.ceil(order.length / size) }, (_none, index) =>
    order.slice(index * size, (index + 1) * size),
  );
