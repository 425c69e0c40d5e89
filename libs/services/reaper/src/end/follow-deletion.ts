import { isWithoutPool, type NodeClaim, poolKey } from '@dovetail/core-api';
import type { Node } from '@dovetail/core-kube-model';
import { kubeResources } from '@dovetail/core-ports';

import type { ReaperContext } from '../context.js';
import { deleteClaim } from '../outside/claim-edits.js';

/** Deletes the claim of a Node that somebody has deleted, so that it ends as all others do. */
export async function followNodeDeletion(
  { deps }: ReaperContext,
  claim: NodeClaim,
  node: Node,
): Promise<void> {
  deps.log.info('node-deleted', `Node ${node.name} was deleted; its claim ${claim.name} follows`, {
    node: node.name,
    claim: claim.name,
  });
  await deleteClaim(deps.kube, claim);
}

/**
 * Deletes a claim that its pool owns when the pool is gone or being deleted. (The garbage collector
 * does the same, later.) A claim without the owner reference stays: `--cascade=orphan` asks for
 * that. Pool and claim are read live, because a watch may lag. Answers whether it deleted the
 * claim.
 */
export async function followPoolDeletion(
  context: ReaperContext,
  claim: NodeClaim,
): Promise<boolean> {
  const { deps, cluster } = context;
  if (!cluster.isSynced('pool') || isWithoutPool(claim)) return false;
  const key = poolKey(claim.pool);
  const pool = cluster.pools.one('key', key);
  if (pool !== undefined && pool.deletionMs === undefined) return false;
  if (pool === undefined && cluster.hasUnreadablePool(key)) return false;
  const state = await poolState(context, claim);
  if (state === 'there' || !(await isOwnedByPool(context, claim))) return false;
  deps.log.info(
    'pool-gone',
    `${poolKey(claim.pool)} is ${state}; its claim ${claim.name} follows`,
    { claim: claim.name },
  );
  await deleteClaim(deps.kube, claim);
  return true;
}

/** A definition that is not served proves nothing about its objects: the pool may be there. */
async function poolState(
  { deps }: ReaperContext,
  { pool }: NodeClaim,
): Promise<'there' | 'gone' | 'being deleted'> {
  const resource = pool.kind === 'NodePool' ? kubeResources.nodePools : kubeResources.provisioners;
  if (!(await deps.kube.serves(resource))) return 'there';
  const live = await deps.kube.get({ resource, name: pool.name });
  if (live === undefined) return 'gone';
  return live.metadata.deletionTimestamp === undefined ? 'there' : 'being deleted';
}

async function isOwnedByPool({ deps }: ReaperContext, claim: NodeClaim): Promise<boolean> {
  const live = await deps.kube.get({ resource: kubeResources.nodeClaims, name: claim.name });
  const owners = live?.metadata.ownerReferences ?? [];
  return owners.some(({ kind, name }) => kind === claim.pool.kind && name === claim.pool.name);
}
