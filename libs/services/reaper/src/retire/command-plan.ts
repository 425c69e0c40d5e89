import { planIdOf, type PlanMessage, type PlanReply } from '@dovetail/contracts';
import type { Command } from '@dovetail/core-disruption';
import { at } from '@dovetail/core-invariant';
import type { Hash } from '@dovetail/core-ports';

/**
 * The plan that carries a command out: the solver's, with the nodes in as they were judged. The
 * launcher admits it whole or not at all. Its id does not depend on the time.
 */
export function planOfCommand(
  { name, cause, nodesOut, nodesIn, priceAfterMicrosPerHour }: Command,
  reply: Pick<PlanReply, 'plan' | 'statePosition'>,
  by: { readonly hash: Hash; readonly nowMs: number; readonly source: string },
): PlanMessage {
  const { nodeName, nodeUid } = at(nodesOut, 0);
  const others = nodesOut
    .slice(1)
    .map((node) => ({ nodeName: node.nodeName, nodeUid: node.nodeUid }));
  const draft = {
    cause: {
      kind: 'replacement',
      nodeName,
      nodeUid,
      ...(others.length === 0 ? {} : { others }),
      reason: cause,
      command: name,
    },
    plan: {
      ...reply.plan,
      newNodes: nodesIn.map(({ bin }) => bin),
      priceMicrosPerHour: priceAfterMicrosPerHour,
    },
    statePosition: reply.statePosition,
    admissionSeen: admissionOf(reply.plan.admissionHead),
    createdMs: by.nowMs,
    solver: by.source,
    solveMs: 0,
  } as const;
  return { id: planIdOf(by.hash, draft), ...draft };
}

/** Reads `epoch.number`. Another text counts as before every admission: the plan is refused. */
function admissionOf(text: string): PlanMessage['admissionSeen'] {
  const match = /^([0-9]+)\.([0-9]+)$/.exec(text);
  return { epoch: Number(match?.[1] ?? 0), number: Number(match?.[2] ?? 0) };
}
