import type { StoryStage } from '../story-stage.js';

/** From the answer with the prices to the launch by them, at most. */
const launchMsMax = 300_000;

/** A launcher reads prices this much later than it should, at most. */
const lateMs = 30_000;

/** A time, in milliseconds since 1970. */
type Span = { readonly startMs: number; readonly endMs: number };

/** The time in which services have read the prices that they go by now. */
function seenNow(stage: StoryStage): Span {
  const endMs = stage.clock.nowMs();
  return { startMs: endMs - stage.settings.priceRefreshMs - launchMsMax, endMs };
}

/** The prices of the instance's pool in this time. */
function pricesIn(stage: StoryStage, instanceId: string, span: Span): readonly number[] {
  const { instanceType, zone, capacityType } = stage.twin.instances.get(instanceId);
  const type = stage.twin.types.get(instanceType);
  if (type === undefined || capacityType !== 'spot')
    return [stage.twin.hourlyPriceOf(instanceId) ?? 0];
  const prices = stage.twin.market.history(type, zone, { ...span, stepsMax: 1_000 });
  return prices.map(({ priceMicros }) => priceMicros);
}

/** The lowest price of an instance that services may suppose now, in micro-dollars an hour. */
export const lowestPriceOf = (stage: StoryStage, instanceId: string): number =>
  Math.min(...pricesIn(stage, instanceId, seenNow(stage)));

/** The highest price of an instance that services may suppose now, in micro-dollars an hour. */
export const highestPriceOf = (stage: StoryStage, instanceId: string): number =>
  Math.max(...pricesIn(stage, instanceId, seenNow(stage)));

/**
 * The lowest price of an instance that its launcher may have supposed when it wrote down what to
 * buy, at `decidedMs` in milliseconds since 1970. In micro-dollars an hour.
 */
export const lowestPriceAt = (stage: StoryStage, instanceId: string, decidedMs: number): number =>
  Math.min(
    ...pricesIn(stage, instanceId, {
      startMs: decidedMs - stage.settings.priceRefreshMs - lateMs,
      endMs: decidedMs,
    }),
  );
