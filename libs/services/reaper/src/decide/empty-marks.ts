import type { NodeClaim } from '@dovetail/core-api';
import type { Node } from '@dovetail/core-kube-model';
import type { Log } from '@dovetail/core-ports';
import {
  aboutNode,
  type EventRecorder,
  type EventRepeat,
  type KubeChanges,
} from '@dovetail/service-kit';

import { writeEmptySince } from '../outside/claim-edits.js';

type Means = {
  readonly kube: KubeChanges;
  readonly log: Log;
  readonly events: Pick<EventRecorder, 'record'>;
};

/** A claim whose node is empty since a time in milliseconds, or not empty any more (undefined). */
type EmptyMark = {
  readonly claim: NodeClaim;
  readonly node: Pick<Node, 'name' | 'uid'> | undefined;
  readonly sinceMs: number | undefined;
};

/** Only a change is told here, so that no Event is the repeat of another. */
const neverRepeat: EventRepeat = { afterMs: 0 };

/**
 * Writes since when the node of a claim is empty, or that it is not any more. Tells each change in
 * the sentences of Karpenter, by which people follow `ttlSecondsAfterEmpty`: in the log, and on the
 * node of a Provisioner as an Event.
 */
export async function markEmpty({ kube, log, events }: Means, mark: EmptyMark): Promise<void> {
  const { claim, node, sinceMs } = mark;
  if (!(await writeEmptySince(kube, claim, sinceMs))) return;
  const message =
    sinceMs === undefined ? 'Removed emptiness TTL from node' : 'Added TTL to empty node';
  log.info(sinceMs === undefined ? 'emptiness-ttl-removed' : 'emptiness-ttl-added', message, {
    claim: claim.name,
    ...(claim.nodeName === undefined ? {} : { node: claim.nodeName }),
    ...(sinceMs === undefined ? {} : { emptySince: new Date(sinceMs).toISOString() }),
  });
  if (node === undefined || claim.pool.kind !== 'Provisioner') return;
  const told = { about: aboutNode(node), type: 'Normal', message } as const;
  if (sinceMs === undefined) events.record({ ...told, reason: 'EmptinessTTLRemoved' }, neverRepeat);
  else events.record({ ...told, reason: 'EmptinessTTLAdded' }, neverRepeat);
}
