import type { NodeClaim } from './claim.js';
import { annotations } from './names.js';

/**
 * The price of a node in micro-dollars an hour. Estimated: taken from another region or from
 * on-demand.
 */
export type NodePrice = { readonly priceMicrosPerHour: number; readonly priceEstimated: boolean };

/**
 * Writes the annotation `dovetail.sh/price-per-hour` in US dollars: `0.0385`, or `~0.0385` when
 * estimated.
 */
export const nodePriceText = ({ priceMicrosPerHour, priceEstimated }: NodePrice): string =>
  `${priceEstimated ? '~' : ''}${(priceMicrosPerHour / 1e6).toFixed(6).replace(/0{1,4}$/, '')}`;

/**
 * The price of the claim's instance at its launch. Undefined before the launch, or when the text is
 * no price.
 */
export function nodePriceOf({
  annotations: held,
}: Pick<NodeClaim, 'annotations'>): NodePrice | undefined {
  const match = /^(~?)([0-9]{1,6}\.[0-9]{1,6})$/.exec(held[annotations.pricePerHour] ?? '');
  return match === null
    ? undefined
    : { priceMicrosPerHour: Math.round(Number(match[2]) * 1e6), priceEstimated: match[1] === '~' };
}
