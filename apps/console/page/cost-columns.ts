import type { CostPoint } from '@dovetail/service-console/view';

/** Seconds, dollars of the cost, and dollars of the bound. `null`: not known at that time. */
export type CostColumns = [number[], (number | null)[], (number | null)[]];

/**
 * Both lines as steps up to now, in the units of the chart. A line has a value at each time of the
 * other, too: that of its last point.
 */
export function costColumns(
  cost: readonly CostPoint[],
  bounds: readonly CostPoint[],
  nowMs: number,
): CostColumns {
  if (cost.length + bounds.length === 0) return [[], [], []];
  const known = [...cost, ...bounds].map(([atMs]) => atMs);
  const times = [...new Set([...known, nowMs])].sort((a, b) => a - b);
  return [times.map((atMs) => atMs / 1_000), stepsAt(times, cost), stepsAt(times, bounds)];
}

function stepsAt(times: readonly number[], points: readonly CostPoint[]): (number | null)[] {
  let next = 0;
  let dollars: number | null = null;
  return times.map((atMs) => {
    for (let point = points[next]; point !== undefined && point[0] <= atMs; point = points[next]) {
      dollars = point[1] / 1e6;
      next += 1;
    }
    return dollars;
  });
}
