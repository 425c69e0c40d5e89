import type { Decision } from '@dovetail/contracts';
import { lookUp } from '@dovetail/core-invariant';

/** The price of all nodes beside that of a plan from nothing for their pods, as a decision says. */
export type GapTold = {
  readonly nodes: number;
  readonly priceMicrosPerHour: number;
  readonly planNodes: number;
  readonly planPriceMicrosPerHour: number;
  /** No plan from nothing costs less. Absent: no bound was proven. */
  readonly lowerBoundMicrosPerHour?: number;
  /** Pods that the plan leaves without a place. Neither its price nor the bound counts them. */
  readonly podsUnplaced: number;
  /** Whether one of the prices is estimated. */
  readonly priceEstimated: boolean;
};

/** Reads a decision `gap`. A fact that is missing, as of another release, counts as 0. */
export function gapTold(decision: Decision): GapTold {
  const { priceMicrosPerHour = 0, priceEstimated = false, facts } = decision;
  const { lowerBoundMicrosPerHour: least } = decision;
  const numberOf = (name: string): number => Number(lookUp(facts, name) ?? 0);
  return {
    nodes: numberOf('nodes'),
    priceMicrosPerHour,
    planNodes: numberOf('planNodes'),
    planPriceMicrosPerHour: numberOf('planPriceMicrosPerHour'),
    ...(least === undefined ? {} : { lowerBoundMicrosPerHour: least }),
    podsUnplaced: numberOf('podsUnplaced'),
    priceEstimated,
  };
}
