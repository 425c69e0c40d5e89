import type { Condition, NodeClaim } from '@dovetail/core-api';
import type { Cluster } from '@dovetail/core-cluster';
import { aboutClaim, type EventRecorder } from '@dovetail/service-kit';

/** The conditions whose transitions Karpenter records as Events. */
const recorded: ReadonlySet<string> = new Set([
  'Launched',
  'Registered',
  'Initialized',
  'Ready',
  'Drifted',
  'Drained',
  'InstanceTerminating',
]);

/**
 * Records an Event for each condition of a claim that changes, in Karpenter's words, until the
 * answer is called. Changes from before the call are not recorded.
 */
export function recordTransitions(cluster: Cluster, events: EventRecorder): () => void {
  const seen = new Map<string, ReadonlyMap<string, Condition>>();
  const read = (claim: NodeClaim): ReadonlyMap<string, Condition> =>
    new Map(claim.conditions.map((condition) => [condition.type, condition]));
  for (const claim of cluster.claims.values()) seen.set(claim.uid, read(claim));
  return cluster.subscribe(({ kind, uid }) => {
    if (kind !== 'claim') return;
    const claim = cluster.claims.get(uid);
    if (claim === undefined) {
      seen.delete(uid);
      return;
    }
    const before = seen.get(uid);
    const now = read(claim);
    seen.set(uid, now);
    for (const condition of now.values()) {
      const was = before?.get(condition.type)?.status ?? 'Unknown';
      if (was === condition.status || !recorded.has(condition.type)) continue;
      const change = `Type: ${condition.type}, Status: ${was} -> ${condition.status}`;
      const message = condition.message === '' ? '' : `, Message: ${condition.message}`;
      events.record({
        about: aboutClaim(claim),
        type: 'Normal',
        reason: condition.type,
        message: `Status condition transitioned, ${change}, Reason: ${condition.reason}${message}`,
      });
    }
  });
}
