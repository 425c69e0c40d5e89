import { dedicatedPriceOf } from '../foundation/prices.js';
import type { TwinInstance } from '../parts/instances.js';
import type { CloudTwin } from './cloud-twin.js';

/**
 * The price of an instance now, in micro-dollars an hour. Undefined for a type without a price. AWS
 * bills a Spot instance at the present price of its pool.
 */
export function hourlyPriceOf(
  twin: Pick<CloudTwin, 'types' | 'market' | 'timeline'>,
  instance: TwinInstance,
): number | undefined {
  const type = twin.types.get(instance.instanceType);
  if (type === undefined) return undefined;
  if (instance.capacityType === 'spot')
    return twin.market.priceAt(type, instance.zone, twin.timeline.nowMs())?.priceMicros;
  const { onDemandPriceMicros } = type;
  return instance.tenancy === 'dedicated' && onDemandPriceMicros !== undefined
    ? dedicatedPriceOf(type, onDemandPriceMicros)
    : onDemandPriceMicros;
}
