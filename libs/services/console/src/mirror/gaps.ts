import type { Decision } from '@dovetail/contracts';
import { gapTold } from '@dovetail/service-kit';

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
    const row: GapRow = { atMs: decision.atMs, ...gapTold(decision) };
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
