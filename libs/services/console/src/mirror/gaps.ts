import type { Decision } from '@dovetail/contracts';

import type { CostPoint, GapRow, GapView } from '../view/frames.js';
import { thinned } from './cost-history.js';

/** The most bounds that are kept: those of a week, one every ten minutes, and some more. */
const boundsMax = 2_000;

/** The comparisons of the cluster with plans from nothing that decisions tell. */
export class Gaps {
  #last: GapRow | undefined;
  #bounds: CostPoint[] = [];

  /** Takes a decision in the order of the bus. */
  take(decision: Decision): void {
    if (decision.kind !== 'gap') return;
    const row = rowOf(decision);
    if (this.#last === undefined || this.#last.atMs <= row.atMs) this.#last = row;
    if (row.lowerBoundMicrosPerHour === undefined) return;
    this.#bounds.push([row.atMs, row.lowerBoundMicrosPerHour]);
    if (this.#bounds.length > boundsMax) this.#bounds = this.#bounds.slice(-boundsMax / 2);
  }

  /** The last one, and the bounds in the order of time, so many points at the most. */
  view(pointsMax: number): GapView {
    const bounds = thinned(
      this.#bounds.toSorted(([a], [b]) => a - b),
      pointsMax,
    );
    return { ...(this.#last === undefined ? {} : { last: this.#last }), bounds };
  }
}

function rowOf({ atMs, priceMicrosPerHour = 0, ...decision }: Decision): GapRow {
  const { lowerBoundMicrosPerHour: least, facts } = decision;
  const numberOf = (name: string): number => Number(facts[name] ?? 0);
  return {
    atMs,
    nodes: numberOf('nodes'),
    priceMicrosPerHour,
    planNodes: numberOf('planNodes'),
    planPriceMicrosPerHour: numberOf('planPriceMicrosPerHour'),
    ...(least === undefined ? {} : { lowerBoundMicrosPerHour: least }),
    podsUnplaced: numberOf('podsUnplaced'),
    priceEstimated: decision.priceEstimated ?? false,
  };
}
