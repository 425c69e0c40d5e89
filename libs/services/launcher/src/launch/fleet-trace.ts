import { type Channel, placeOfDecision, recordSpan } from '@dovetail/contracts';
import type { NodeClaim } from '@dovetail/core-api';

import { placeOfClaim } from '../cluster/claim-trace.js';
import type { LaunchIntent } from './intent.js';

/** The names of traces, and where their spans go. */
export type Tracing = Pick<Channel, 'cluster' | 'hash' | 'traces'>;

/** A request for a fleet that EC2 has answered. Times are in milliseconds since 1970. */
export type FleetCall = {
  readonly intent: LaunchIntent;
  /** The claims that share the request. */
  readonly carriers: readonly NodeClaim[];
  readonly startMs: number;
  readonly endMs: number;
  readonly instances: number;
  readonly fleetId?: string;
  readonly failure?: string;
};

/**
 * Records the call as a span in the trace of each of its claims; those of one plan share a trace.
 * Its id follows from the intent, so that a request that is sent again is the same span.
 */
export function traceFleet(tracing: Tracing, call: FleetCall): void {
  if (tracing.traces === undefined) return;
  const { intent, carriers, startMs, endMs, instances, fleetId, failure } = call;
  const told = new Set<string>();
  for (const place of carriers.map(placeOfClaim)) {
    if (place === undefined || told.has(place.traceId)) continue;
    told.add(place.traceId);
    recordSpan(tracing, {
      ...placeOfDecision(tracing, `create-fleet/${intent.id}`, place.traceId),
      name: 'create-fleet',
      parentId: place.spanId,
      startMs,
      endMs,
      attributes: {
        'dovetail.intent': intent.id,
        'dovetail.attempt': intent.attempt,
        'dovetail.claims': intent.members.length,
        'dovetail.instances': instances,
        ...(fleetId === undefined ? {} : { 'dovetail.fleet': fleetId }),
      },
      ...(failure === undefined ? {} : { failure }),
    });
  }
}
