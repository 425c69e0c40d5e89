import { annotations, type NodeClaim, parsePromise } from '@dovetail/core-api';
import { isBeingDeleted, isWaiting } from '@dovetail/core-cluster';
import { isBoughtByCommand } from '@dovetail/core-disruption';
import { isReschedulable, nodeOf, type Pod } from '@dovetail/core-kube-model';
import { kubeResources } from '@dovetail/core-ports';
import type { Again } from '@dovetail/service-kit';

import type { ReaperContext } from '../context.js';
import { deleteClaim } from '../outside/claim-edits.js';
import { readClaim, readPodsOn } from '../outside/live.js';

/**
 * How often a claim that a command bought is compared with the node that it replaces. It trades the
 * price of a node that is bought in vain for reads.
 */
const compareMs = 10_000;

/** The plan that an admission mark (`epoch.number/planId/bin`) names. */
const planOf = ({ annotations: held }: NodeClaim): string | undefined =>
  held[annotations.admission]?.split('/')[1];

/**
 * Ends the claims that a command bought in vain. One whose node already runs pods stays: it is a
 * node like any other. The launcher may still admit the plan, so a claim that comes later is looked
 * at by `endIfInVain`.
 */
export async function endUnusedReplacements(context: ReaperContext, planId: string): Promise<void> {
  for (const claim of [...context.cluster.claims.values()])
    if (planOf(claim) === planId && claim.deletionMs === undefined)
      await endUnused(context, claim, planId);
}

/**
 * Ends a claim that a command bought if the node that it replaces was given back meanwhile. The
 * annotation of that node names the plan from before the purchase until then. A node that is gone
 * has been replaced.
 */
export async function endIfInVain(context: ReaperContext, seen: NodeClaim): Promise<Again> {
  const { deps, cluster } = context;
  const planId = isBoughtByCommand(seen) ? planOf(seen) : undefined;
  const replaces = parsePromise(seen.annotations[annotations.promise])?.replaces;
  if (planId === undefined || replaces === undefined) return undefined;
  if (cluster.nodes.get(replaces.nodeUid) === undefined) return undefined;
  const { nodeName: name, nodeUid } = replaces;
  const object = await deps.kube.get({ resource: kubeResources.nodes, name });
  const node = object === undefined ? undefined : nodeOf(object);
  if (node?.ok !== true || node.value.uid !== nodeUid) return undefined;
  const { annotations: held } = node.value;
  const replaced = cluster.claimOfNode(node.value);
  const isGoing = isBeingDeleted(node.value, replaced);
  // A node that goes for another cause by now needs the room all the same.
  if (isGoing || held[annotations.retirement] !== undefined) return { afterMs: compareMs };
  const claim = await readClaim(deps.kube, seen.name);
  if (claim?.uid === seen.uid && claim.deletionMs === undefined)
    await endUnused(context, claim, planId);
  return undefined;
}

async function endUnused(
  { deps: { kube, log }, cluster }: ReaperContext,
  claim: NodeClaim,
  planId: string,
): Promise<void> {
  const node = cluster.nodeOfClaim(claim);
  const pods = node === undefined ? [] : await readPodsOn(kube, node.name);
  const promised = parsePromise(claim.annotations[annotations.promise])?.podUids ?? [];
  const isAwaited = (pod: Pod | undefined): boolean => pod !== undefined && isWaiting(pod);
  const about = { claim: claim.name, plan: planId, pods: pods.length };
  if (pods.some(isReschedulable) || promised.some((uid) => isAwaited(cluster.pods.get(uid)))) {
    log.info('replacement-kept', `${claim.name} was bought in vain, and pods need it`, about);
    return;
  }
  await deleteClaim(kube, claim);
  log.info('replacement-ended', `${claim.name} was bought in vain, and is ended`, about);
}
