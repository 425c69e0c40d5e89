import {
  type Channel,
  type PlanMessage,
  tracedPlace,
  type TracedWork,
  traceparentOf,
} from '@dovetail/contracts';
import type { TracePlace } from '@dovetail/core-ports';

/** A plan with its place in a trace, which its message names in a header and not in its payload. */
export type TracedPlan = PlanMessage & {
  /** Absent: the launcher traces nothing, or the plan belongs to no trace. */
  readonly place?: TracePlace;
};

/** Judging a bin of a plan, since the bus took the plan, as the work that its decision ends. */
export const judging = ({ place, createdMs }: TracedPlan): TracedWork | undefined =>
  place === undefined
    ? undefined
    : { traceId: place.traceId, parentId: place.spanId, sinceMs: createdMs };

/** The id of the decision that a bin passed. */
export const admitId = ({ id }: Pick<PlanMessage, 'id'>, binId: string): string =>
  `admit/${id}/${binId}`;

/** The place of an admission, as its claim carries it. Undefined: the plan is not traced. */
export function traceparentOfBin(
  tracing: Pick<Channel, 'cluster' | 'hash' | 'traces'>,
  plan: TracedPlan,
  binId: string,
): string | undefined {
  const place = tracedPlace(tracing, admitId(plan, binId), judging(plan));
  return place === undefined ? undefined : traceparentOf(place);
}
