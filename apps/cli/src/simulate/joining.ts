import { type NodeClaim, type Pool, poolKey } from '@dovetail/core-api';
import { type Cluster, isRegistered, poolOfLabels } from '@dovetail/core-cluster';
import type { Node } from '@dovetail/core-kube-model';
import type { PoolOptions } from '@dovetail/core-scheduling';

const initialized = 'karpenter.sh/initialized';
const instanceType = 'node.kubernetes.io/instance-type';

/** A claim of this pool that has become this node, as far as both tell. */
export function claimOf(node: Node, pool: Pool, { instanceTypes }: PoolOptions): NodeClaim {
  const type = instanceTypes.find((one) => one.name === node.labels[instanceType]);
  return {
    uid: `NodeClaim//${node.name}`,
    name: node.name,
    resourceVersion: '',
    createdMs: 0,
    finalizers: [],
    labels: pool.labels,
    annotations: {},
    pool: pool.identity,
    classRef: pool.classRef,
    requirements: pool.requirements,
    requests: {},
    taints: pool.taints,
    startupTaints: pool.startupTaints,
    nodeName: node.name,
    ...(node.providerId === undefined ? {} : { providerId: node.providerId }),
    capacity: type?.capacity ?? {},
    allocatable: type?.allocatable ?? {},
    conditions: [],
  };
}

/**
 * Claims for nodes of pools that are still starting, when the manifests have no claims at all (as
 * `kubectl get nodes,pods,nodepools` prints them). A claim tells which taints will go away, and the
 * room of a kubelet that has not reported yet. Its pool and its type tell the same.
 */
export function claimsOfStartingNodes(
  cluster: Cluster,
  pools: readonly PoolOptions[],
): readonly NodeClaim[] {
  if (cluster.claims.size > 0) return [];
  const byKey = new Map(pools.map((one) => [poolKey(one.pool.identity), one]));
  return [...cluster.nodes.values()].flatMap((node) => {
    const starting = !isRegistered(node) || node.labels[initialized] !== 'true';
    const identity = poolOfLabels(node.labels);
    const options = identity === undefined ? undefined : byKey.get(poolKey(identity));
    return starting && options !== undefined ? [claimOf(node, options.pool, options)] : [];
  });
}
