import { poolKey } from '@dovetail/core-api';
import { compareText } from '@dovetail/core-kube-model';

import { type DisruptionNote, note } from '../facts/refusal.js';
import { balancedScore, isBalanced, type PoolTotals } from '../rules/costs.js';
import type { Candidate } from './candidates.js';
import type { Command } from './command.js';

/**
 * Why a command saves too little for its disruption: each pool with the policy Balanced must
 * approve. A pool's share of the saving is its share of the price of the nodes that go (Karpenter's
 * rule). Undefined: all pools approve.
 */
export function imbalanceOf(
  { priceBeforeMicrosPerHour, priceAfterMicrosPerHour }: Command,
  candidates: readonly Candidate[],
  totals: ReadonlyMap<string, PoolTotals>,
): DisruptionNote | undefined {
  const saved = priceBeforeMicrosPerHour - priceAfterMicrosPerHour;
  const scores = new Map<string, number>();
  for (const [key, { price, cost }] of sharesOf(candidates)) {
    const total = totals.get(key) ?? { priceMicrosPerHour: 0, disruptionCost: 0 };
    const share = priceBeforeMicrosPerHour === 0 ? 0 : price / priceBeforeMicrosPerHour;
    const move = { savedMicrosPerHour: saved * share, disruptionCost: cost };
    scores.set(key, balancedScore(move, total));
  }
  const [worst] = [...scores]
    .filter(([, score]) => !isBalanced(score))
    .sort(([a], [b]) => compareText(a, b));
  if (worst === undefined) return undefined;
  const [pool, score] = [worst[0], worst[1].toFixed(2)];
  return note(
    'not-worthwhile',
    `it would save too little for its disruption of ${pool}: score ${score}, least 0.50`,
    { pool, score },
  );
}

/** The price and the disruption cost of the candidates of each pool with the policy Balanced. */
function sharesOf(
  candidates: readonly Candidate[],
): ReadonlyMap<string, { readonly price: number; readonly cost: number }> {
  const shares = new Map<string, { readonly price: number; readonly cost: number }>();
  for (const { view, priceMicrosPerHour, disruptionCost } of candidates) {
    if (view.pool.disruption.policy !== 'Balanced') continue;
    const key = poolKey(view.pool.identity);
    const { price, cost } = shares.get(key) ?? { price: 0, cost: 0 };
    shares.set(key, { price: price + priceMicrosPerHour, cost: cost + disruptionCost });
  }
  return shares;
}
