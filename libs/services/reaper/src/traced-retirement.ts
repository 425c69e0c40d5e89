import {
  parseTraceparent,
  placeOfCommand,
  placeOfRetirement,
  recordSpan,
  type TracedWork,
} from '@dovetail/contracts';
import { annotations, type NodeClaim } from '@dovetail/core-api';
import { instanceIdOf } from '@dovetail/core-cluster';
import { parseRetirement, type Retirement } from '@dovetail/core-disruption';
import type { Node } from '@dovetail/core-kube-model';
import type { TracePlace } from '@dovetail/core-ports';

import type { ReaperContext } from './context.js';
import { channelOf } from './deps.js';

/** A claim that ends, with its node if it has one. */
type Ending = { readonly claim: NodeClaim; readonly node?: Node | undefined };

/** The first span of the trace of a retirement. A claim without a node has one of its own. */
const placeOf = ({ deps, config }: ReaperContext, { claim, node }: Ending): TracePlace =>
  placeOfRetirement(channelOf(deps, config), node?.uid ?? claim.uid);

/** A step of a retirement that began at a time, as the work that a decision ends. */
export function retiringSince(context: ReaperContext, ending: Ending, sinceMs: number): TracedWork {
  const { traceId, spanId } = placeOf(context, ending);
  return { traceId, parentId: spanId, sinceMs };
}

/** A command from its beginning until its nodes are marked, as the first span of its trace. */
export const commandSince = (
  { deps, config }: ReaperContext,
  name: string,
  sinceMs: number,
): TracedWork => ({ ...placeOfCommand(channelOf(deps, config), name), sinceMs });

/**
 * Records a retirement that is over: from its beginning, or from the deletion of its claim by a
 * person, until its instance is gone. It is linked to the launch of the node and to its command.
 */
export function traceRetired(context: ReaperContext, ending: Ending & { readonly cause: string }) {
  const { claim, node, cause } = ending;
  const { deps, config } = context;
  const channel = channelOf(deps, config);
  const retirement = parseRetirement(node?.annotations[annotations.retirement]);
  const endMs = deps.clock.nowMs();
  const launch = parseTraceparent(claim.annotations[annotations.traceparent]);
  const command = commandOf(retirement);
  const instance = instanceIdOf(claim);
  recordSpan(channel, {
    ...placeOf(context, ending),
    name: 'retire',
    startMs: retirement?.atMs ?? claim.deletionMs ?? endMs,
    endMs,
    attributes: {
      'dovetail.cause': cause,
      'dovetail.claim': claim.name,
      ...(node === undefined ? {} : { 'k8s.node.name': node.name }),
      ...(instance === undefined ? {} : { 'host.id': instance }),
    },
    links: [
      ...(launch === undefined ? [] : [launch]),
      ...(command === undefined ? [] : [placeOfCommand(channel, command)]),
    ],
  });
}

/** The command that gives up an under-used node: the detail of such a retirement is its name. */
const commandOf = (retirement: Retirement | undefined): string | undefined =>
  retirement?.cause === 'underutilized' ? retirement.detail : undefined;
