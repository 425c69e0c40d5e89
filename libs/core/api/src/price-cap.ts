import type { NodeClaim } from './claim.js';
import { annotations } from './names.js';

const dollars = /^[0-9]{1,6}(\.[0-9]{1,6})?$/;

/** A price in US dollars, as it stands in annotations: exact to the micro-dollar. */
export const priceCapText = (microsPerHour: number): string =>
  (microsPerHour / 1_000_000).toFixed(6);

/**
 * The most that the node of this claim may cost, in micro-dollars an hour. Undefined: the claim
 * sets no cap. A cap that cannot be read counts as 0, because a node above its cap must not be
 * bought.
 */
export function priceCapOf(claim: Pick<NodeClaim, 'annotations'>): number | undefined {
  const text = claim.annotations[annotations.maxPricePerHour];
  if (text === undefined) return undefined;
  return dollars.test(text) ? Math.round(Number(text) * 1_000_000) : 0;
}
