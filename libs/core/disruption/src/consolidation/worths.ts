import { lookUp } from '@dovetail/core-invariant';
import type { Resources } from '@dovetail/core-kube-model';
import { type PlanOptions, type Snapshot, unitPricesOf } from '@dovetail/core-scheduling';

import { bestFirst, type Candidate } from './candidates.js';

/**
 * A node that costs this many times the worth of all its room is not worth keeping, even full:
 * other nodes hold the same for less. It trades evictions for money.
 */
const dearFrom = 1.08;

/**
 * A node that costs this many times what its pods are worth may be given up alone or with a few
 * others. Fuller nodes are not tried in small groups, because nothing can be saved on them. It
 * trades plans for small savings.
 */
const wastefulFrom = 1.12;

/** The worth of amounts at the prices of new nodes, in micro-dollars an hour. */
export class Worths {
  readonly #perUnit: ReadonlyMap<string, number>;

  constructor(perUnit: ReadonlyMap<string, number>) {
    this.#perUnit = perUnit;
  }

  /** The worths at which the pods of these candidates could be held by new nodes. */
  static of(snapshot: Snapshot, candidates: readonly Candidate[], options: PlanOptions): Worths {
    const pods = candidates.flatMap((candidate) => candidate.pods);
    return new Worths(unitPricesOf(snapshot, pods, options));
  }

  of(amounts: Resources): number {
    let sum = 0;
    for (const [name, price] of this.#perUnit)
      sum += price * Math.max(0, lookUp(amounts, name) ?? 0);
    return sum;
  }

  /** The worth of the pods that a candidate would have to move. */
  used({ pods }: Candidate): number {
    return pods.reduce((sum, { requests }) => sum + this.of(requests), 0);
  }

  /** Whether new nodes could hold the pods of a candidate for clearly less than it costs. */
  isWasteful(candidate: Candidate): boolean {
    return candidate.priceMicrosPerHour > wastefulFrom * this.used(candidate);
  }

  /**
   * Those first that go the sooner: nodes dearer than what they can hold, and then the most money
   * per disruption. Nodes late in this order are worth keeping and filling.
   */
  goFirst(candidates: readonly Candidate[]): readonly Candidate[] {
    const isDear = ({ view, priceMicrosPerHour }: Candidate): boolean =>
      priceMicrosPerHour > dearFrom * this.of(view.node.allocatable);
    const ranked = candidates.map((candidate) => ({ candidate, isDear: isDear(candidate) }));
    return ranked
      .sort((a, b) => Number(b.isDear) - Number(a.isDear) || bestFirst(a.candidate, b.candidate))
      .map(({ candidate }) => candidate);
  }
}
