import type { Pool } from '@dovetail/core-api';
import type { DisruptionNote, NodeView } from '@dovetail/core-disruption';
import type { Node } from '@dovetail/core-kube-model';
import {
  aboutClaim,
  aboutNode,
  aboutPool,
  type EventRecorder,
  type EventRepeat,
} from '@dovetail/service-kit';

/** The reasons that come from consolidation itself. Others block any voluntary disruption. */
const unconsolidatable: ReadonlySet<string> = new Set<DisruptionNote['code']>([
  'disruption-disabled',
  'consolidation-off',
  'needs-new-node',
  'moved-recently',
  'not-worthwhile',
  'pods-without-place',
]);

/** An Event Unconsolidatable of a node is repeated after 15 min, whatever it says (Karpenter's). */
const staysRepeat: EventRepeat = { sameAs: 'unconsolidatable', afterMs: 900_000 };
/** An Event of a pool's spent budget is repeated after 1 min: budgets change each minute. */
const budgetRepeat: EventRepeat = { afterMs: 60_000 };

/** An Event of too many unhealthy nodes is repeated after 15 min (Karpenter's). */
const brakeRepeat: EventRepeat = { afterMs: 900_000 };

type Events = Pick<EventRecorder, 'record'>;
const type = 'Normal';

/**
 * Tells on node and claim why they may not be disrupted now. Another cause is told at once:
 * Karpenter, which looks every ten seconds, keeps it back for two minutes. This service looks when
 * something changes, so that the cause would stay unsaid.
 */
export function tellBlocked(events: Events, view: NodeView, { message }: DisruptionNote): void {
  for (const about of subjectsOf(view))
    events.record({ about, type, reason: 'DisruptionBlocked', message });
}

/** Tells that nodes are bought for the pods of a node. */
export function tellLaunching(events: Events, node: Node): void {
  const message = `Launching replacements for ${node.name}`;
  events.record({ about: aboutNode(node), type, reason: 'DisruptionLaunching', message });
}

/** Tells why a node stays although a cause asks for its end. */
export function tellHeld(events: Events, view: NodeView, why: DisruptionNote): void {
  if (why.code !== 'repair-blocked') {
    tellBlocked(events, view, why);
    return;
  }
  const { message } = why;
  for (const about of [...subjectsOf(view), ...(view.pool ? [aboutPool(view.pool)] : [])])
    events.record({ about, type: 'Warning', reason: 'NodeRepairBlocked', message }, brakeRepeat);
}

/** Tells why consolidation leaves a node: for its pool or its place, or blocked for now. */
export function tellStays(events: Events, view: NodeView, note: DisruptionNote): void {
  const { code, message } = note;
  if (!unconsolidatable.has(code)) {
    tellBlocked(events, view, note);
    return;
  }
  for (const about of subjectsOf(view))
    events.record({ about, type, reason: 'Unconsolidatable', message }, staysRepeat);
}

/** Tells on a pool that its budget holds back nodes that are due. */
export function tellExhausted(events: Events, pool: Pool, { message }: DisruptionNote): void {
  const about = aboutPool(pool);
  events.record({ about, type, reason: 'DisruptionBlocked', message }, budgetRepeat);
}

/** Tells on a pool that no command is recorded, and what that means for its nodes. */
export function tellUnrecorded(events: Events, pool: Pool): void {
  const message =
    'nodes are removed one at a time and never replaced: the API server does not know disruptions.dovetail.sh; apply deploy/crds';
  const about = aboutPool(pool);
  events.record({ about, type: 'Warning', reason: 'Unconsolidatable', message }, staysRepeat);
}

const subjectsOf = ({ claim, node }: NodeView) => [
  aboutClaim(claim),
  ...(node === undefined ? [] : [aboutNode(node)]),
];
