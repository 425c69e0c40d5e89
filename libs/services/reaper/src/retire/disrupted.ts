import { labels, type NodeClaim } from '@dovetail/core-api';
import {
  causeOf,
  type DisruptionNote,
  type NodeView,
  note,
  type Retirement,
  shownCause,
} from '@dovetail/core-disruption';
import { isReschedulable } from '@dovetail/core-kube-model';
import { claimFacts, countText } from '@dovetail/service-kit';

import type { ReaperContext } from '../context.js';

/** `expired` → `Expired`, as Events and conditions name causes. */
export const titled = (cause: Retirement['cause']): string =>
  `${cause.charAt(0).toUpperCase()}${cause.slice(1)}`;

/** `StorageReady` → `storage_ready`, as Karpenter's metrics name conditions. */
const snakeCase = (type: string): string =>
  type.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '_').toLowerCase();

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
  countDisrupted(context, claim, retirement, newNodes);
  const inFull = `${name} is ${cause}${detail === undefined ? '' : ` (${detail})`}`;
  const successors = newNodes === 0 ? '' : `, replaced by ${countText(newNodes, 'new node')}`;
  context.decisions.tell({
    ...claimFacts(claim),
    id: `disrupt/${claim.uid}`,
    kind: 'disrupt',
    reasons: [why ?? note(cause, inFull)],
    summary: `ending ${name}: ${cause}${successors}`,
    facts: {
      cause,
      ...(node === undefined ? {} : { node: node.name }),
      pods: String(view.pods.filter(isReschedulable).length),
    },
  });
}

function countDisrupted(
  { deps: { metrics } }: ReaperContext,
  claim: NodeClaim,
  retirement: Retirement,
  newNodes: number,
): void {
  const { cause, detail = cause } = retirement;
  const held = {
    nodepool: claim.pool.name,
    capacity_type: claim.labels[labels.capacityType] ?? '',
  };
  const reason = shownCause(retirement);
  metrics.count('karpenter_nodeclaims_disrupted_total', { reason, ...held });
  if (cause === 'unhealthy')
    metrics.count('karpenter_nodeclaims_unhealthy_disrupted_total', {
      condition: snakeCase(detail),
      ...held,
      image_id: claim.imageId ?? '',
    });
  if (causeOf(retirement).takesOver) return;
  const decision = newNodes === 0 ? 'delete' : 'replace';
  metrics.count('karpenter_voluntary_disruption_decisions_total', { reason: cause, decision });
}
