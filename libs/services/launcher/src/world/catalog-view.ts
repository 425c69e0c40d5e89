import { poolKey, type KubeletConfiguration, type NodeClaim, type Pool } from '@dovetail/core-api';
import type { InstanceType } from '@dovetail/core-ec2-model';
import { admits, maxResources, requirementsOf, type RequirementSpec, type Resources, type ValueSet } from '@dovetail/core-kube-model';
import { classKey, type World } from './world.js';

/** Instance types per node class, as discovery knows them now, with what is out of capacity already marked unavailable. */
export interface CatalogView {
  readonly revision: string;
  /** By type name; empty while the class is unknown or not ready. The key is `classKey(ref)`; `kubelet`: settings of a pool's own, which win over the class'. */
  typesOf(classKey: string, kubelet?: KubeletConfiguration): ReadonlyMap<string, InstanceType>;
}

/** What a pool may launch, and a claim of it may have become. */
export const typesOfPool = (catalog: CatalogView, pool: Pick<Pool, 'classRef' | 'kubelet'>): ReadonlyMap<string, InstanceType> => catalog.typesOf(classKey(pool.classRef), pool.kubelet);
export const typesOfClaim = (catalog: CatalogView, world: Pick<World, 'pools'>, claim: NodeClaim): ReadonlyMap<string, InstanceType> =>
  catalog.typesOf(classKey(claim.classRef), world.pools.one('key', poolKey(claim.pool))?.kubelet);

const typeLabel = 'node.kubernetes.io/instance-type';

/** The catalog's types that a set of requirements names, in order of name. */
export function typesNamedBy(requirements: readonly RequirementSpec[], types: ReadonlyMap<string, InstanceType>): readonly InstanceType[] {
  const set: ValueSet | undefined = requirementsOf(requirements).get(typeLabel);
  if (set?.kind === 'in') return [...set.values].sort().flatMap((name) => types.get(name) ?? []);
  return [...types.values()].filter((type) => set === undefined || admits(set, type.name)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** What a claim may come to take of its pool's limits: its capacity once launched, until then the largest of its options, by resource. */
export function claimUsage(claim: NodeClaim, types: ReadonlyMap<string, InstanceType>): Resources {
  if (Object.keys(claim.capacity).length > 0) return claim.capacity;
  return typesNamedBy(claim.requirements, types).reduce<Resources>((largest, type) => maxResources(largest, type.capacity), {});
}

/** The smaller of each resource: what every one of the types has. Empty for no types. */
export function leastOf(all: readonly Resources[]): Resources {
  const [first, ...rest] = all;
  if (first === undefined) return {};
  const least: Record<string, number> = { ...first };
  for (const one of rest) for (const name of Object.keys(least)) least[name] = Math.min(least[name] ?? 0, one[name] ?? 0);
  return least;
}
