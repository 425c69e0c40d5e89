import type { Bound } from '../plan.js';
import type { PlanOptions } from '../snapshot.js';

/**
 * Returns a bound without the charge per node, for plans of at most `nodes` new nodes. A bound with
 * the charge holds for every plan. Without it, a plan of more nodes may cost less.
 */
export function uncharged(
  { kind, priceMicrosPerHour }: Bound,
  nodes: number,
  { nodeChargeMicrosPerHour }: Pick<PlanOptions, 'nodeChargeMicrosPerHour'>,
): Bound {
  const price = priceMicrosPerHour - nodes * nodeChargeMicrosPerHour;
  return price > 0 && kind !== 'none'
    ? { kind, priceMicrosPerHour: price }
    : { kind: 'none', priceMicrosPerHour: 0 };
}
