import { labels, type NodeClaim } from '@dovetail/core-api';
import type { Node } from '@dovetail/core-kube-model';

import type { UnhealthyCondition } from '../facts/unhealthy.js';

/** Nothing ends for its health while more than this share of a pool is unhealthy, rounded up. */
export const unhealthySharePercent = 20;

/** A node of the cluster as repair reads it. */
export type NodeHealth = {
  readonly node: Node;
  /** The claim that the node came from. Absent: the node is not ours, and only counts. */
  readonly claim?: NodeClaim;
  /** Absent: the node is healthy. */
  readonly condition?: UnhealthyCondition;
  /** Whether EC2's checks of its instance fail for so long that they would end it. */
  readonly failsChecks?: boolean;
};

/** The pool of a node or claim, by its label. Undefined: it has none. */
const poolLabelOf = ({ labels: held }: Pick<Node, 'labels'>): string | undefined => {
  const { [labels.nodePool]: nodePool, [labels.provisioner]: provisioner } = held;
  if (nodePool !== undefined) return `NodePool/${nodePool}`;
  return provisioner === undefined ? undefined : `Provisioner/${provisioner}`;
};

type Counted = { nodes: number; unhealthy: number };

/** The nodes of a pool, or of the cluster for undefined, and how many of them are unhealthy. */
export type HealthCensus = ReadonlyMap<string | undefined, Readonly<Counted>>;

/**
 * Counts every node under its pool's label, and all nodes of the cluster under undefined. A node
 * counts as unhealthy by its condition, or by EC2's checks.
 */
export function healthCensus(nodes: readonly NodeHealth[]): HealthCensus {
  const counts = new Map<string | undefined, Counted>();
  for (const { node, condition, failsChecks } of nodes) {
    for (const key of new Set([undefined, poolLabelOf(node)])) {
      const counted = counts.get(key) ?? { nodes: 0, unhealthy: 0 };
      counted.nodes += 1;
      if (condition !== undefined || failsChecks === true) counted.unhealthy += 1;
      counts.set(key, counted);
    }
  }
  return counts;
}

/**
 * Too many nodes of a claim's pool are unhealthy, or of the cluster if it has no pool. An error
 * that hits many at once is in no single node.
 */
export type Braked = Readonly<Counted> & {
  readonly allowed: number;
  /** The key of the pool, `NodePool/default`. Undefined: the whole cluster counts. */
  readonly pool: string | undefined;
};

/** Whether nothing of the claim's pool may end for its health now. Undefined: it may. */
export function brakeOf(claim: NodeClaim, census: HealthCensus): Braked | undefined {
  const pool = poolLabelOf(claim);
  const { nodes, unhealthy } = census.get(pool) ?? { nodes: 0, unhealthy: 0 };
  const allowed = Math.ceil((nodes * unhealthySharePercent) / 100);
  return unhealthy <= allowed ? undefined : { nodes, unhealthy, allowed, pool };
}
