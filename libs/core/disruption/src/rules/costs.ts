import { nodePriceOf, poolKey } from '@dovetail/core-api';
import { evictionCost, isReschedulable, type Pod } from '@dovetail/core-kube-model';

import { isInitialized, type NodeView } from '../facts/view.js';

/**
 * The cost of moving all pods of a node (Karpenter's RescheduleDisruptionCost). It is 1, plus the
 * eviction cost of each pod that needs another place. A negative cost counts as none.
 */
export const disruptionCostOf = (pods: readonly Pod[]): number =>
  1 + pods.filter(isReschedulable).reduce((sum, pod) => sum + Math.max(0, evictionCost(pod)), 0);

/**
 * The price of a node in micro-dollars an hour: that of its offering now, else that of its launch.
 * 0 if neither is known (Karpenter's rule).
 */
export const priceOf = ({
  claim,
  priceMicrosPerHour = nodePriceOf(claim)?.priceMicrosPerHour ?? 0,
}: Pick<NodeView, 'claim' | 'priceMicrosPerHour'>): number => priceMicrosPerHour;

/** The price of all nodes of a pool, and the cost of disrupting them all. */
export type PoolTotals = { readonly priceMicrosPerHour: number; readonly disruptionCost: number };

/** The totals of each pool (`NodePool/default`) over its initialised nodes. */
export function poolTotalsOf(views: readonly NodeView[]): ReadonlyMap<string, PoolTotals> {
  const totals = new Map<string, PoolTotals>();
  for (const view of views) {
    if (view.pool === undefined || view.node === undefined || !isInitialized(view)) continue;
    const key = poolKey(view.pool.identity);
    const { priceMicrosPerHour, disruptionCost } = totals.get(key) ?? {
      priceMicrosPerHour: 0,
      disruptionCost: 0,
    };
    totals.set(key, {
      priceMicrosPerHour: priceMicrosPerHour + priceOf(view),
      disruptionCost: disruptionCost + disruptionCostOf(view.pods),
    });
  }
  return totals;
}

/** Karpenter's factor k of the policy Balanced. */
const balance = 2;

/**
 * The score of a move under the policy Balanced: its share of the pool's price that is saved, over
 * its share of the pool's disruption. Karpenter makes the move from 1/2 on.
 */
export function balancedScore(
  move: { readonly savedMicrosPerHour: number; readonly disruptionCost: number },
  pool: PoolTotals,
): number {
  if (pool.priceMicrosPerHour <= 0 || pool.disruptionCost <= 0 || move.disruptionCost <= 0)
    return 0;
  const saved = move.savedMicrosPerHour / pool.priceMicrosPerHour;
  return saved / (move.disruptionCost / pool.disruptionCost);
}

/** Whether the policy Balanced makes a move of this score. */
export const isBalanced = (score: number): boolean => score >= 1 / balance;
