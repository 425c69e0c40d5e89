import { poolKey, type NodeClaim } from '@dovetail/core-api';
import { kubeResources } from '@dovetail/core-ports';
import type { Reaping } from '../context.js';
import { deleteClaim } from '../effects/claim-edits.js';

/**
 * Deletes a claim that its pool owns when the pool is gone or going. The garbage collector does the same, later. A claim without
 * the owner reference stays: that is what `--cascade=orphan` asks for. Pool and claim are looked up live: a watch may lag.
 */
export async function followPoolDeletion(reaping: Reaping, claim: NodeClaim): Promise<boolean> {
  const { deps, world } = reaping;
  if (!world.synced()) return false;
  const pool = world.pools.one('key', poolKey(claim.pool));
  if (pool !== undefined && pool.deletionMs === undefined) return false;
  const resource = claim.pool.kind === 'NodePool' ? kubeResources.nodePools : kubeResources.provisioners;
  // A definition that is not served proves nothing about its objects.
  if (!(await deps.kube.serves(resource))) return false;
  const live = await deps.kube.get({ resource, name: claim.pool.name });
  if (live !== undefined && live.metadata.deletionTimestamp === undefined) return false;
  const held = await deps.kube.get({ resource: kubeResources.nodeClaims, name: claim.name });
  if (held?.metadata.ownerReferences?.some(({ kind, name }) => kind === claim.pool.kind && name === claim.pool.name) !== true) return false;
  deps.log.info('pool-gone', `${poolKey(claim.pool)} is ${live === undefined ? 'gone' : 'being deleted'}; its claim ${claim.name} follows`, { claim: claim.name });
  await deleteClaim(deps.kube, claim);
  return true;
}
