import { parseTraceparent, type TracedWork } from '@dovetail/contracts';
import { annotations, type NodeClaim } from '@dovetail/core-api';
import type { TracePlace } from '@dovetail/core-ports';
import { conditionOf } from '@dovetail/service-kit';

/** The place of a claim's admission in a trace. Undefined: not traced, or a person made it. */
export const placeOfClaim = (claim: Pick<NodeClaim, 'annotations'>): TracePlace | undefined =>
  parseTraceparent(claim.annotations[annotations.traceparent]);

/**
 * A step of a claim as the work that a decision ends. It begins when the claim reached the state
 * before: it was made, `Launched` or `Registered`. Kubernetes keeps these times in whole seconds,
 * so no step begins before the bus took the plan.
 */
export function stepOf(
  claim: NodeClaim,
  since: 'made' | 'Launched' | 'Registered',
): TracedWork | undefined {
  const place = placeOfClaim(claim);
  if (place === undefined) return undefined;
  const reachedMs =
    since === 'made' ? undefined : conditionOf(claim.conditions, since)?.lastTransitionMs;
  const plannedMs = Date.parse(claim.annotations[annotations.planned] ?? '');
  const sinceMs = Math.max(reachedMs ?? claim.createdMs, Number.isNaN(plannedMs) ? 0 : plannedMs);
  return { traceId: place.traceId, parentId: place.spanId, sinceMs };
}
