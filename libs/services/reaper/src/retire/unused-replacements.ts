import { annotations, type NodeClaim, parsePromise } from '@dovetail/core-api';
import { isBeingDeleted, isWaiting } from '@dovetail/core-cluster';
import { causeOf, isBoughtByCommand, parseRetirement } from '@dovetail/core-disruption';
import { isReschedulable, type Node, nodeOf, type Pod } from '@dovetail/core-kube-model';
import { kubeResources } from '@dovetail/core-ports';
import { type Again, inParallel } from '@dovetail/service-kit';

import type { ReaperCluster } from '../cluster/reaper-cluster.js';
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
  const { cluster } = context;
  const claims = [...cluster.claims.values()].filter(
    (claim) => planOf(claim) === planId && claim.deletionMs === undefined,
  );
  await inParallel(claims, 1, async (claim) => {
    if (waitersFor(cluster, claim).every((node) => isOfPlan(node, planId)))
      await endUnused(context, claim, planId);
  });
}

/** Whether the node goes by a command with this plan, and for no other cause. */
function isOfPlan({ annotations: held, deletionMs }: Node, planId: string): boolean {
  const retirement = parseRetirement(held[annotations.retirement]);
  if (retirement === undefined || causeOf(retirement).takesOver) return false;
  return deletionMs === undefined && retirement.planId === planId;
}

/**
 * The nodes that wait for a claim: those that go, for any cause, and have pods for which it keeps
 * room, or that it was bought to replace.
 */
function waitersFor(cluster: ReaperCluster, claim: NodeClaim): readonly Node[] {
  return comparedNodes(cluster, claim).filter((node) => {
    const { [annotations.retirement]: retirement } = node.annotations;
    return retirement !== undefined || isBeingDeleted(node, cluster.claimOfNode(node));
  });
}

/** The nodes that a claim may have been bought for, as the watch shows them. */
function comparedNodes(cluster: ReaperCluster, claim: NodeClaim): readonly Node[] {
  const { replaces, forPodUids = [] } = parsePromise(claim.annotations[annotations.promise]) ?? {};
  const ofPods = forPodUids.map((uid) => cluster.pods.get(uid)?.nodeName);
  const named = [...new Set(ofPods)].map((name) => cluster.nodes.one('name', name ?? ''));
  const replaced = replaces === undefined ? undefined : cluster.nodes.get(replaces.nodeUid);
  return [...new Set([...named, replaced])].filter((node) => node !== undefined);
}

/**
 * Ends a claim that a command bought if the nodes that it replaces were given back meanwhile. The
 * annotations of these nodes name the plan from before the purchase until then. If all of them are
 * gone, they have been replaced.
 */
export async function endIfInVain(context: ReaperContext, seen: NodeClaim): Promise<Again> {
  const { deps, cluster } = context;
  const planId = isBoughtByCommand(seen) ? planOf(seen) : undefined;
  const replaces = parsePromise(seen.annotations[annotations.promise])?.replaces;
  if (planId === undefined || replaces === undefined) return undefined;
  const compared = comparedNodes(cluster, seen);
  if (compared.length === 0) return undefined;
  // A node that goes for another cause by now needs the room all the same.
  if (waitersFor(cluster, seen).length > 0) return { afterMs: compareMs };
  for (const node of compared) if (await isGoingLive(context, node)) return { afterMs: compareMs };
  const claim = await readClaim(deps.kube, seen.name);
  if (claim?.uid === seen.uid && claim.deletionMs === undefined)
    await endUnused(context, claim, planId);
  return undefined;
}

/** Whether the node goes or is gone by now: the watch may be behind. */
async function isGoingLive({ deps, cluster }: ReaperContext, seen: Node): Promise<boolean> {
  const object = await deps.kube.get({ resource: kubeResources.nodes, name: seen.name });
  const node = object === undefined ? undefined : nodeOf(object);
  if (node?.ok !== true || node.value.uid !== seen.uid) return true;
  const { annotations: held } = node.value;
  const isRetired = held[annotations.retirement] !== undefined;
  return isRetired || isBeingDeleted(node.value, cluster.claimOfNode(node.value));
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
