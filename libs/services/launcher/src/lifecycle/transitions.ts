import type { Condition, NodeClaim } from '@dovetail/core-api';
import { claimSubject, type KubeEvents } from '../tell/kube-events.js';
import type { World } from '../world/world.js';

const told: ReadonlySet<string> = new Set(['Launched', 'Registered', 'Initialized', 'Ready', 'Drifted', 'Drained', 'InstanceTerminating']);

/** Tells an Event for each condition of a claim that changes while this launcher leads, in the form that Karpenter's users grep for. */
export function tellTransitions(world: World, events: KubeEvents): () => void {
  const seen = new Map<string, ReadonlyMap<string, Condition>>();
  const read = (claim: NodeClaim): ReadonlyMap<string, Condition> => new Map(claim.conditions.map((condition) => [condition.type, condition]));
  for (const claim of world.claims.values()) seen.set(claim.uid, read(claim));
  return world.subscribe((kind, uid) => {
    if (kind !== 'claim') return;
    const claim = world.claims.get(uid);
    if (claim === undefined) { seen.delete(uid); return; }
    const before = seen.get(uid);
    const now = read(claim);
    seen.set(uid, now);
    for (const condition of now.values()) {
      const was = before?.get(condition.type)?.status ?? 'Unknown';
      if (was === condition.status || !told.has(condition.type)) continue;
      events.tell({
        about: claimSubject(claim), type: 'Normal', reason: condition.type,
        message: `Status condition transitioned, Type: ${condition.type}, Status: ${was} -> ${condition.status}, Reason: ${condition.reason}${condition.message === '' ? '' : `, Message: ${condition.message}`}`,
      });
    }
  });
}
