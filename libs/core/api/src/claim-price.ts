import type { NodeClaim } from './claim.js';
import { annotations } from './names.js';

/** What a node costs an hour, in micro-dollars, and whether that was estimated. */
export type NodePrice = { readonly priceMicrosPerHour: number; readonly priceEstimated: boolean };

/** US dollars as the annotation `dovetail.sh/price-per-hour` has them: `0.0385`, with `~` in front when estimated. */
export const nodePriceText = ({ priceMicrosPerHour, priceEstimated }: NodePrice): string => `${priceEstimated ? '~' : ''}${(priceMicrosPerHour / 1e6).toFixed(6).replace(/0{1,4}$/, '')}`;

/** What the claim's instance cost when it was launched; undefined before, and for what is no price of ours. */
export function nodePriceOf({ annotations: held }: Pick<NodeClaim, 'annotations'>): NodePrice | undefined {
  const match = /^(~?)([0-9]{1,6}\.[0-9]{1,6})$/.exec(held[annotations.pricePerHour] ?? '');
  return match === null ? undefined : { priceMicrosPerHour: Math.round(Number(match[2]) * 1e6), priceEstimated: match[1] === '~' };
}
