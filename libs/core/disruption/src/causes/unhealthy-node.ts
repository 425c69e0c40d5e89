import { annotations, isWithoutPool, type NodeClaim } from '@dovetail/core-api';
import { isRegistered } from '@dovetail/core-cluster';
import { isReschedulable, type Node } from '@dovetail/core-kube-model';

import { type DisruptionNote, note } from '../facts/refusal.js';
import { parseRetirement } from '../facts/retirement-record.js';
import { drainLimitMs, type UnhealthyCondition } from '../facts/unhealthy.js';
import {
  isEnding,
  isInitialized,
  isRebooting,
  type NodeView,
  terminationDeadlineMs,
} from '../facts/view.js';
import { absenceOf, promisedNote } from '../rules/eligibility.js';
import { brakeOf, type HealthCensus, unhealthySharePercent } from '../rules/repair-brake.js';
import { type CauseFacts, ofNoConcern, type Standing } from './standing.js';

type Sick = NodeView & { readonly node: Node };

/** Why a node is repaired. */
function reasonOf(node: Node, condition: UnhealthyCondition, nowMs: number): DisruptionNote {
  const { type, status, sinceMs } = condition;
  if (sinceMs === Infinity) return timelessNote(node, condition);
  const seconds = Math.floor((nowMs - sinceMs) / 1_000);
  return note('unhealthy', `${type} of ${node.name} has been ${status} for ${String(seconds)} s`, {
    condition: type,
    status,
    seconds,
  });
}

/** Why a node is not repaired although it is unhealthy: nobody knows for how long. */
const timelessNote = ({ name }: Node, { type, status }: UnhealthyCondition): DisruptionNote =>
  note(
    'unhealthy',
    `${type} of ${name} is ${status} without a lastTransitionTime, so it is never repaired`,
    { condition: type, status },
  );

/**
 * Says whether a node has been unhealthy for longer than is tolerated. With a limit for its drain,
 * the node is replaced as Karpenter 1.15 does: do-not-disrupt does not count, do-not-repair does,
 * and a solver is asked first where its pods would go. Without such a limit it ends by force, as by
 * Karpenter 1.14: a retirement that still waits does not hold it. Both are held back while more
 * than a fifth of the pool's nodes are unhealthy.
 */
export function unhealthyStanding(view: NodeView, facts: CauseFacts): Standing {
  const { node } = view;
  const { health, nowMs } = facts;
  const condition = node === undefined ? undefined : health?.conditionOf(node);
  if (node === undefined || health === undefined || condition === undefined) return ofNoConcern;
  const { dueMs, type: detail } = condition;
  const drainMs = drainLimitMs(condition, nowMs);
  const isForced = drainMs === undefined;
  const sick = { ...view, node };
  if (isForced ? endsByForce(sick, nowMs) : isEnding(view)) return ofNoConcern;
  const why = reasonOf(node, condition, nowMs);
  if (dueMs === Infinity) return { kind: 'stays', notes: [why] };
  if (dueMs > nowMs) return { kind: 'later', dueMs, notes: [why] };
  const held = isForced
    ? legacyBrake(view.claim, health.census)
    : holdOf(sick, health.census, facts);
  const record = { detail, ...(isForced ? {} : { drainMs }) };
  const due = { kind: 'due', sinceMs: dueMs, note: why, record } as const;
  if (held !== undefined) return { ...due, held: [held] };
  if (isForced || !view.pods.some(isReschedulable)) return { ...due, held: [] };
  const answer = facts.placeAnswer?.(view.claim, 'unhealthy');
  return { ...due, held: [], isToAsk: answer === undefined, ...(answer ? { left: answer } : {}) };
}

/** Whether the node ends by force already: nothing would come earlier. */
function endsByForce({ node, claim }: Sick, nowMs: number): boolean {
  const retirement = parseRetirement(node.annotations[annotations.retirement]);
  if (retirement !== undefined && (retirement.deadlineMs ?? Infinity) <= nowMs) return true;
  return claim.deletionMs !== undefined && (terminationDeadlineMs(claim) ?? Infinity) <= nowMs;
}

/** The note that holds back a repair by force, in the words of Karpenter 1.14. */
function legacyBrake(claim: NodeClaim, census: HealthCensus): DisruptionNote | undefined {
  const braked = brakeOf(claim, census);
  if (braked === undefined) return undefined;
  const { pool, ...counts } = braked;
  const where = pool === undefined ? 'cluster' : 'nodepool';
  const message = `more than ${String(unhealthySharePercent)}% nodes are unhealthy in the ${where}`;
  return note('repair-blocked', message, counts);
}

/** The reason in the node or its pool that holds back its replacement; undefined: none does. */
function holdOf(view: Sick, census: HealthCensus, facts: CauseFacts): DisruptionNote | undefined {
  const { claim, node, pool } = view;
  if (pool === undefined || isWithoutPool(claim))
    return note(
      'disruption-disabled',
      'repair requires a NodePool to construct and budget a safe replacement',
    );
  // A node that joined and never became usable is repaired. Before that, the launcher gives it up.
  const isNew = !isInitialized(view) && isRegistered(node) && !isRebooting(view);
  const against = isNew ? undefined : (absenceOf(view) ?? promisedNote(view, facts));
  if (against !== undefined) return against;
  if ([node, claim].some(({ annotations: held }) => held[annotations.doNotRepair] === 'true'))
    return note(
      'repair-vetoed',
      `repair is blocked through the "${annotations.doNotRepair}" annotation`,
      { node: node.name },
    );
  const braked = brakeOf(claim, census);
  if (braked === undefined) return undefined;
  const { pool: _pool, ...counts } = braked;
  const share = `more than ${String(unhealthySharePercent)}% of nodes`;
  return note('repair-blocked', `${share} in nodepool "${claim.pool.name}" are unhealthy`, counts);
}
