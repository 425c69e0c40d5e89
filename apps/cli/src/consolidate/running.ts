import { labels, type NodeClaim, poolKey } from '@dovetail/core-api';
import { type Cluster, isRegistered } from '@dovetail/core-cluster';
import { isInitialized, type NodeView } from '@dovetail/core-disruption';
import type { Offering } from '@dovetail/core-ec2-model';
import type { Node } from '@dovetail/core-kube-model';
import type { PoolOptions, Snapshot } from '@dovetail/core-scheduling';

import { claimOf } from '../simulate/joining.js';

/** Manifests tell no history, so each node counts as initialised long ago. */
const initializedMs = 0;

/**
 * The nodes of pools as they run: each with its claim, its pods, its pool and its price now.
 * `consolidateAfter` counts as over, because manifests do not tell how long ago they were read. A
 * node without a claim in the manifests has one that its pool and its labels tell.
 */
export function runningNodes(cluster: Cluster, { pools, nodes }: Snapshot): readonly NodeView[] {
  const byKey = new Map(pools.map((one) => [poolKey(one.pool.identity), one]));
  const poolKeys = new Map(nodes.map((room) => [room.uid, room.poolKey]));
  return [...cluster.nodes.values()].flatMap((node) => {
    const options = byKey.get(poolKeys.get(node.uid) ?? '');
    return options === undefined ? [] : [viewOf(cluster, node, options)];
  });
}

function viewOf(cluster: Cluster, node: Node, options: PoolOptions): NodeView {
  const { pool } = options;
  const known = cluster.claimOfNode(node);
  const claim = settled(known ?? claimOf(node, pool, options), node);
  const offering = offeringOf({ ...claim.labels, ...node.labels }, options);
  const { consolidateAfterMs: _after, ...disruption } = pool.disruption;
  const isConsolidated = pool.disruption.consolidateAfterMs !== undefined;
  return {
    claim,
    node,
    pods: cluster.pods.by('node', node.name),
    pool: {
      ...pool,
      disruption: { ...disruption, ...(isConsolidated ? { consolidateAfterMs: 0 } : {}) },
    },
    ...(offering === undefined ? {} : { priceMicrosPerHour: offering.priceMicrosPerHour }),
  };
}

/** The claim as initialised long ago, if its node is. */
function settled({ lastPodEventMs: _event, ...claim }: NodeClaim, node: Node): NodeClaim {
  const isReady = isInitialized({ claim, node }) && isRegistered(node);
  const others = claim.conditions.filter(({ type }) => type !== 'Initialized');
  const condition = {
    type: 'Initialized',
    status: 'True',
    reason: 'Initialized',
    message: '',
    lastTransitionMs: initializedMs,
  } as const;
  return { ...claim, conditions: isReady ? [...others, condition] : others };
}

/** The offering that labels of a node or of its claim name, as the catalog has it now. */
export function offeringOf(
  held: Readonly<Record<string, string>>,
  { instanceTypes }: Pick<PoolOptions, 'instanceTypes'>,
): Offering | undefined {
  const type = instanceTypes.find(({ name }) => name === held[labels.instanceType]);
  return type?.offerings.find(
    ({ zone, capacityType }) =>
      zone === held[labels.zone] && capacityType === held[labels.capacityType],
  );
}
