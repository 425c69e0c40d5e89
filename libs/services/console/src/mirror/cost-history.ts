import type { Decision } from '@dovetail/contracts';

import type { CostPoint } from '../view/frames.js';

/** A change of the cost at a time. */
type CostStep = { readonly atMs: number; readonly byMicrosPerHour: number };

/** The most steps that are kept: launches and ends of some thousands of nodes. */
const stepsMax = 20_000;

/** The changes of the cost that decisions tell: a launch adds its price, an end takes it away. */
export class CostSteps {
  /** The prices of claims that were launched and have not ended, by name. */
  readonly #launched = new Map<string, number>();
  #steps: CostStep[] = [];

  /** The steps, in the order of the bus. */
  get all(): readonly CostStep[] {
    return this.#steps;
  }

  take({ kind, atMs, claimName, priceMicrosPerHour: price }: Decision): void {
    if (claimName === undefined) return;
    if (kind === 'launch' && price !== undefined) {
      // An instance that takes the place of another one of the same claim does not add to it.
      this.#add(atMs, price - (this.#launched.get(claimName) ?? 0));
      this.#launched.set(claimName, price);
    }
    if (kind !== 'terminate' && kind !== 'collect' && kind !== 'launch-failed') return;
    const launched = this.#launched.get(claimName);
    // A launch that is no longer kept was priced as its end is.
    const ended = launched ?? (kind === 'terminate' ? price : undefined);
    this.#launched.delete(claimName);
    if (ended !== undefined) this.#add(atMs, -ended);
  }

  #add(atMs: number, byMicrosPerHour: number): void {
    if (byMicrosPerHour === 0) return;
    this.#steps.push({ atMs, byMicrosPerHour });
    if (this.#steps.length > stepsMax) this.#steps = this.#steps.slice(-stepsMax / 2);
  }
}

/**
 * The cost over time, from the steps and what it is now: counted backwards, so that the present is
 * exact. At most so many points; of points that are close, the last counts. The oldest comes first.
 */
export function costHistory(
  steps: readonly CostStep[],
  [nowMs, nowMicros]: CostPoint,
  pointsMax: number,
): readonly CostPoint[] {
  const ordered = [...steps].sort((a, b) => a.atMs - b.atMs);
  const points: CostPoint[] = [[nowMs, nowMicros]];
  let micros = nowMicros;
  for (const { atMs, byMicrosPerHour } of ordered.toReversed()) {
    points.push([atMs, micros]);
    micros = Math.max(0, micros - byMicrosPerHour);
  }
  const [first] = ordered;
  if (first !== undefined) points.push([first.atMs - 1, micros]);
  return thinned(points.toReversed(), pointsMax);
}

/** At most so many points; of points that are close, the last counts. */
export function thinned(points: readonly CostPoint[], pointsMax: number): readonly CostPoint[] {
  const [first, last] = [points[0], points.at(-1)];
  if (points.length <= pointsMax || first === undefined || last === undefined) return points;
  const span = Math.max(1, last[0] - first[0]);
  const buckets = new Map<number, CostPoint>();
  for (const point of points)
    buckets.set(Math.floor(((point[0] - first[0]) / span) * (pointsMax - 1)), point);
  return [...buckets.values()];
}
