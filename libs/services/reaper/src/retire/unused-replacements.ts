import { annotations, type NodeClaim } from '@dovetail/core-api';
import { isReschedulable } from '@dovetail/core-kube-model';

import type { ReaperContext } from '../context.js';
import { deleteClaim } from '../outside/claim-edits.js';
import { readPodsOn } from '../outside/live.js';

/** The plan that an admission mark (`epoch.number/planId/bin`) names. */
const planOf = ({ annotations: held }: NodeClaim): string | undefined =>
  held[annotations.admission]?.split('/')[1];

/**
 * Ends the claims that a command bought in vain. One whose node already runs pods stays: it is a
 * node like any other.
 */
export async function endUnusedReplacements(
  { deps, cluster }: ReaperContext,
  planId: string,
): Promise<void> {
  const { kube, log } = deps;
  for (const claim of [...cluster.claims.values()]) {
    if (planOf(claim) !== planId || claim.deletionMs !== undefined) continue;
    const node = cluster.nodeOfClaim(claim);
    const pods = node === undefined ? [] : await readPodsOn(kube, node.name);
    const about = { claim: claim.name, plan: planId, pods: pods.length };
    if (pods.some(isReschedulable)) {
      log.info('replacement-kept', `${claim.name} was bought in vain, and pods run on it`, about);
      continue;
    }
    await deleteClaim(kube, claim);
    log.info('replacement-ended', `${claim.name} was bought in vain, and is ended`, about);
  }
}
