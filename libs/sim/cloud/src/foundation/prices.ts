import type { TwinType } from './account.js';
import { fractionOf } from './digest.js';

/** One price of a Spot pool and the time from which it holds. */
export type SpotPrice = {
  readonly instanceType: string;
  readonly zone: string;
  readonly priceMicros: number;
  readonly sinceMs: number;
};

/**
 * The price of a pool changes at most once in this time, each pool at its own moment. AWS changes
 * prices slowly too; the step is the twin's choice.
 */
export const spotStepMs = 6 * 3_600_000;

/**
 * The Spot price that holds at a time, in micro-dollars an hour. A pool keeps a fraction of the
 * on-demand price between 0.28 and 0.62 for its life, and each step moves it by up to 4 %. The
 * price depends on seed, pool and time alone. Undefined for a type without an on-demand price, or
 * one that is not sold as Spot.
 */
export function spotPriceAt(
  seed: string,
  type: TwinType,
  zone: string,
  nowMs: number,
): SpotPrice | undefined {
  if (type.onDemandPriceMicros === undefined || !type.facts.supportedUsageClasses.includes('spot'))
    return undefined;
  const name = type.facts.name;
  const shiftMs = Math.floor(fractionOf(seed, 'spot-shift', name, zone) * spotStepMs);
  const step = Math.floor((nowMs - shiftMs) / spotStepMs);
  const base = 0.28 + 0.34 * fractionOf(seed, 'spot-base', name, zone);
  const moved = 1 + 0.08 * (fractionOf(seed, 'spot-step', name, zone, step) - 0.5);
  const priceMicros = Math.max(
    100,
    Math.round((type.onDemandPriceMicros * base * moved) / 100) * 100,
  );
  return { instanceType: name, zone, priceMicros, sinceMs: step * spotStepMs + shiftMs };
}

/**
 * The on-demand price on a dedicated host. No public source that the catalog is made of states it,
 * so the twin adds a tenth. Bare metal costs the same.
 */
export const dedicatedPriceOf = ({ facts }: TwinType, onDemandMicros: number): number =>
  facts.bareMetal ? onDemandMicros : Math.round(onDemandMicros * 1.1);

/** AWS writes prices as decimal dollars with six digits. */
export const dollarsOf = (micros: number): string => (micros / 1_000_000).toFixed(6);
