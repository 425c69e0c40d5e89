import type { StoryStage } from '../story-stage.js';

/** From the answer with the prices to the launch by them, at most. */
const launchMsMax = 300_000;

/** The prices of the instance's pool in the time in which services have seen its prices last. */
function pricesSeen(stage: StoryStage, instanceId: string): readonly number[] {
  const { instanceType, zone, capacityType } = stage.twin.instances.get(instanceId);
  const type = stage.twin.types.get(instanceType);
  if (type === undefined || capacityType !== 'spot')
    return [stage.twin.hourlyPriceOf(instanceId) ?? 0];
  const endMs = stage.clock.nowMs();
  const startMs = endMs - stage.settings.priceRefreshMs - launchMsMax;
  const prices = stage.twin.market.history(type, zone, { startMs, endMs, stepsMax: 1_000 });
  return prices.map(({ priceMicros }) => priceMicros);
}

/** The lowest price of an instance that services may suppose now, in micro-dollars an hour. */
export const lowestPriceOf = (stage: StoryStage, instanceId: string): number =>
  Math.min(...pricesSeen(stage, instanceId));

/** The highest price of an instance that services may suppose now, in micro-dollars an hour. */
export const highestPriceOf = (stage: StoryStage, instanceId: string): number =>
  Math.max(...pricesSeen(stage, instanceId));
