import { type Pool, poolKey } from '@dovetail/core-api';
import { compareText } from '@dovetail/core-kube-model';

import { type DisruptionNote, note } from '../facts/refusal.js';
import { balancedScore, isBalanced, type PoolTotals } from '../rules/costs.js';
import type { Candidate } from './candidates.js';
import type { Command } from './command.js';

/** How a pool scores a command: undefined if its policy is not Balanced, which scores none. */
export type PoolScore = { readonly pool: Pool; readonly score?: number };

/** Whether the pool lets the command be carried out. */
export const isApproved = ({ score }: PoolScore): boolean =>
  score === undefined || isBalanced(score);

/**
 * The score of a command in each pool that it takes nodes from. A pool's share of the saving is its
 * share of the price of the nodes that go (Karpenter's rule).
 */
export function scoresOf(
  { priceBeforeMicrosPerHour, priceAfterMicrosPerHour }: Command,
  candidates: readonly Candidate[],
  totals: ReadonlyMap<string, PoolTotals>,
): readonly PoolScore[] {
  const saved = priceBeforeMicrosPerHour - priceAfterMicrosPerHour;
  return [...sharesOf(candidates)].map(([key, { pool, price, cost }]) => {
    if (pool.disruption.policy !== 'Balanced') return { pool };
    const total = totals.get(key) ?? { priceMicrosPerHour: 0, disruptionCost: 0 };
    const share = priceBeforeMicrosPerHour === 0 ? 0 : price / priceBeforeMicrosPerHour;
    const move = { savedMicrosPerHour: saved * share, disruptionCost: cost };
    return { pool, score: balancedScore(move, total) };
  });
}

/**
 * Why a command saves too little for its disruption: each pool with the policy Balanced must
 * approve. Undefined: all pools approve.
 */
export function imbalanceOf(scores: readonly PoolScore[]): DisruptionNote | undefined {
  const [worst] = scores
    .filter((one) => !isApproved(one))
    .map(({ pool, score = 0 }) => ({ pool: poolKey(pool.identity), score }))
    .sort((a, b) => compareText(a.pool, b.pool));
  if (worst === undefined) return undefined;
  const [pool, score] = [worst.pool, worst.score.toFixed(2)];
  return note(
    'not-worthwhile',
    `it would save too little for its disruption of ${pool}: score ${score}, least 0.50`,
    { pool, score },
  );
}

type Share = { readonly pool: Pool; readonly price: number; readonly cost: number };

/** The price and the disruption cost of the candidates of each pool. */
function sharesOf(candidates: readonly Candidate[]): ReadonlyMap<string, Share> {
  const shares = new Map<string, Share>();
  for (const { view, priceMicrosPerHour, disruptionCost } of candidates) {
    const key = poolKey(view.pool.identity);
    const { price, cost } = shares.get(key) ?? { price: 0, cost: 0 };
    shares.set(key, {
      pool: view.pool,
      price: price + priceMicrosPerHour,
      cost: cost + disruptionCost,
    });
  }
  return shares;
}
