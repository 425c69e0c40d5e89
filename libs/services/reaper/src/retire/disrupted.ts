import {
  type DisruptionNote,
  type NodeView,
  note,
  type Retirement,
} from '@dovetail/core-disruption';
import { isReschedulable } from '@dovetail/core-kube-model';
import { claimFacts, countText, type NewDecision } from '@dovetail/service-kit';

import type { ReaperContext } from '../context.js';
import { retiringSince } from '../traced-retirement.js';
import { countRetired } from './disruption-counts.js';

/** `expired` → `Expired`, as Events and conditions name causes. */
export const titled = (cause: Retirement['cause']): string =>
  `${cause.charAt(0).toUpperCase()}${cause.slice(1)}`;

/** Counts a retirement that ends its node, and tells it as a decision. */
export function tellDisrupted(
  context: ReaperContext,
  view: NodeView,
  retirement: Retirement,
  why?: DisruptionNote,
): void {
  const { claim, node } = view;
  const { cause, detail } = retirement;
  const name = node?.name ?? claim.name;
  const newNodes = context.cluster.roomsFor(view.pods).claims.size;
  countRetired(context.deps.metrics, view, retirement, newNodes);
  const inFull = `${name} is ${cause}${detail === undefined ? '' : ` (${detail})`}`;
  const successors = newNodes === 0 ? '' : `, replaced by ${countText(newNodes, 'new node')}`;
  const decision: NewDecision = {
    ...claimFacts(claim, context.cluster.priceNow(claim)),
    id: `disrupt/${claim.uid}`,
    kind: 'disrupt',
    reasons: [why ?? note(cause, inFull)],
    summary: `ending ${name}: ${cause}${successors}`,
    facts: {
      cause,
      ...(node === undefined ? {} : { node: node.name }),
      // The detail of such a retirement is the name of its command.
      ...(cause === 'underutilized' && detail !== undefined ? { command: detail } : {}),
      pods: String(view.pods.filter(isReschedulable).length),
    },
  };
  context.decisions.tell(decision, retiringSince(context, { claim, node }, retirement.atMs));
}
