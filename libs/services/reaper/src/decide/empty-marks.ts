import type { NodeClaim } from '@dovetail/core-api';
import type { Log } from '@dovetail/core-ports';
import type { KubeChanges } from '@dovetail/service-kit';

import { writeEmptySince } from '../outside/claim-edits.js';

/**
 * Writes since when the node of a claim is empty, or that it is not any more (`sinceMs` undefined).
 * Tells it in the sentences of Karpenter, by which people follow `ttlSecondsAfterEmpty`.
 */
export async function markEmpty(
  { kube, log }: { readonly kube: KubeChanges; readonly log: Log },
  claim: NodeClaim,
  sinceMs: number | undefined,
): Promise<void> {
  if (!(await writeEmptySince(kube, claim, sinceMs))) return;
  const about = {
    claim: claim.name,
    ...(claim.nodeName === undefined ? {} : { node: claim.nodeName }),
  };
  if (sinceMs === undefined)
    log.info('emptiness-ttl-removed', 'Removed emptiness TTL from node', about);
  else
    log.info('emptiness-ttl-added', 'Added TTL to empty node', {
      ...about,
      emptySince: new Date(sinceMs).toISOString(),
    });
}
