import type { PlanMessage } from '@dovetail/contracts';
import { type Cluster, roomFor } from '@dovetail/core-cluster';
import type { Reason } from '@dovetail/core-scheduling';

import type { AdmissionMemory } from './ledger.js';
import { reason } from './reason.js';

/**
 * Refuses a second replacement for a pod, which the reaper may ask for after a crash. Claims and
 * nodes show the first; of the last seconds, which no watch may show yet, the leader's memory does.
 */
export function alreadyReplaced(
  { cause, id }: Pick<PlanMessage, 'cause' | 'id'>,
  podUids: readonly string[],
  known: {
    readonly cluster: Cluster;
    readonly memory: Pick<AdmissionMemory, 'replacedBy'>;
    readonly nowMs: number;
  },
): Reason | undefined {
  if (cause.kind !== 'replacement') return undefined;
  const { cluster, memory, nowMs } = known;
  for (const uid of podUids) {
    const standing = roomFor(cluster, uid, nowMs)[0]?.holder.value.name;
    const remembered = memory.replacedBy(uid, nowMs);
    if (standing === undefined && (remembered === undefined || remembered === id)) continue;
    const replacement = standing ?? `plan ${remembered ?? ''}`;
    const node = cluster.pods.get(uid)?.nodeName ?? cause.nodeName;
    return reason(
      'already-replaced',
      `a pod of ${node} already has room in its replacement: ${replacement}`,
      { node, podUid: uid, replacement },
    );
  }
  return undefined;
}
