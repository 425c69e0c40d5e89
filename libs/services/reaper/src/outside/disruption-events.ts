import type { Pool } from '@dovetail/core-api';
import type { DisruptionNote, NodeView } from '@dovetail/core-disruption';
import { aboutClaim, aboutNode, aboutPool, type EventRecorder } from '@dovetail/service-kit';

/** The reasons that come from consolidation itself. Others block any voluntary disruption. */
const unconsolidatable: ReadonlySet<string> = new Set<DisruptionNote['code']>([
  'disruption-disabled',
  'needs-new-node',
  'moved-recently',
  'not-worthwhile',
  'pods-without-place',
]);

/** The annotation do-not-disrupt is the user's own wish. Karpenter records no Event for it. */
const wished: ReadonlySet<string> = new Set<DisruptionNote['code']>([
  'node-protected',
  'pod-protected',
]);

/** An Event Unconsolidatable of a node is repeated after 15 min, whatever it says (Karpenter's). */
const unconsolidatableRepeatMs = 900_000;
/** An Event of a pool's spent budget is repeated after 1 min: budgets change each minute. */
const budgetRepeatMs = 60_000;

type Events = Pick<EventRecorder, 'record'>;

/** Tells on node and claim why they may not be disrupted now, as Karpenter does. */
export function tellBlocked(events: Events, view: NodeView, note: DisruptionNote): void {
  if (wished.has(note.code)) return;
  for (const about of subjectsOf(view))
    events.record(
      { about, type: 'Normal', reason: 'DisruptionBlocked', message: note.message },
      { sameAs: 'blocked' },
    );
}

/** Tells why consolidation leaves a node: for its pool or its place, or blocked for now. */
export function tellStays(events: Events, view: NodeView, note: DisruptionNote): void {
  if (!unconsolidatable.has(note.code)) {
    tellBlocked(events, view, note);
    return;
  }
  for (const about of subjectsOf(view))
    events.record(
      { about, type: 'Normal', reason: 'Unconsolidatable', message: note.message },
      { sameAs: 'unconsolidatable', afterMs: unconsolidatableRepeatMs },
    );
}

/** Tells on a pool that its budget holds back nodes that are due. */
export function tellExhausted(events: Events, pool: Pool, { message }: DisruptionNote): void {
  events.record(
    { about: aboutPool(pool), type: 'Normal', reason: 'DisruptionBlocked', message },
    { afterMs: budgetRepeatMs },
  );
}

const subjectsOf = ({ claim, node }: NodeView) => [
  aboutClaim(claim),
  ...(node === undefined ? [] : [aboutNode(node)]),
];
