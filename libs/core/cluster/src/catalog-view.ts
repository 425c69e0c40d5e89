import {
  type KubeletConfiguration,
  labels,
  type NodeClaim,
  type Pool,
  poolKey,
} from '@dovetail/core-api';
import { type InstanceType, tenancyOfPool, withTenancy } from '@dovetail/core-ec2-model';
import { lookUp, put } from '@dovetail/core-invariant';
import {
  admits,
  compareText,
  maxResources,
  requirementsOf,
  type RequirementSpec,
  type Resources,
} from '@dovetail/core-kube-model';

import type { Cluster } from './cluster.js';
import { classKey } from './kinds.js';

/** Instance types by name. */
export type TypesByName = ReadonlyMap<string, InstanceType>;

/**
 * The types that each node class can boot now. Offerings without capacity are already marked
 * unavailable.
 */
export interface CatalogView {
  /** Names the catalog as a whole; a plan refers to it. */
  readonly revision: string;
  /**
   * The types of a class by `classKey(ref)`; empty while the class is unknown or not ready.
   * Settings in `kubelet` (a Provisioner's) win over the class's own.
   */
  typesOf(classKey: string, kubelet?: KubeletConfiguration): TypesByName;
}

/** The types that a pool may launch. */
export const typesOfPool = (
  catalog: CatalogView,
  pool: Pick<Pool, 'classRef' | 'kubelet' | 'requirements' | 'labels'>,
): TypesByName =>
  withTenancy(catalog.typesOf(classKey(pool.classRef), pool.kubelet), tenancyOfPool(pool));

/** The types that a claim may have become: its class's, with its pool's settings and tenancy. */
export const typesOfClaim = (
  catalog: CatalogView,
  cluster: Pick<Cluster, 'pools'>,
  claim: Pick<NodeClaim, 'classRef' | 'pool'>,
): TypesByName => {
  const pool = cluster.pools.one('key', poolKey(claim.pool));
  const types = catalog.typesOf(classKey(claim.classRef), pool?.kubelet);
  return pool === undefined ? types : withTenancy(types, tenancyOfPool(pool));
};

/** The catalog's types that a set of requirements admits, in order of name. */
export function typesNamedBy(
  requirements: readonly RequirementSpec[],
  types: TypesByName,
): readonly InstanceType[] {
  const set = requirementsOf(requirements).get(labels.instanceType);
  if (set?.kind === 'in') return [...set.values].sort().flatMap((name) => types.get(name) ?? []);
  return [...types.values()]
    .filter((type) => set === undefined || admits(set, type.name))
    .sort((a, b) => compareText(a.name, b.name));
}

/**
 * The share of its pool's limits that a claim may come to take. It is the claim's capacity once
 * launched, and until then the largest of its options, resource by resource. Karpenter counts an
 * open claim in the same way.
 */
export function claimUsage(
  claim: Pick<NodeClaim, 'capacity' | 'requirements'>,
  types: TypesByName,
): Resources {
  if (Object.keys(claim.capacity).length > 0) return claim.capacity;
  return typesNamedBy(claim.requirements, types).reduce<Resources>(
    (largest, type) => maxResources(largest, type.capacity),
    {},
  );
}

/** The least of each resource that all of them have; empty for none. */
export function leastOf(all: readonly Resources[]): Resources {
  const [first, ...rest] = all;
  const least: Record<string, number> = { ...first };
  for (const one of rest)
    for (const name of Object.keys(least))
      put(least, name, Math.min(lookUp(least, name) ?? 0, lookUp(one, name) ?? 0));
  return least;
}
