import type { NodeClass, NodeClassStatus } from '@dovetail/core-api';
import { classKey } from '@dovetail/core-cluster';
import type { InstanceTypeFacts } from '@dovetail/core-ec2-model';
import type { Log } from '@dovetail/core-ports';

import type { ClusterFacts } from './cluster-facts.js';

/** The types of a region, and the zones that each is sold in. */
type RegionTypes = {
  readonly facts: readonly InstanceTypeFacts[];
  readonly zones: ReadonlyMap<string, readonly string[]>;
};

/**
 * Tells how many types and offerings a refresh found: an offering is a type in a zone, bought one
 * way. A refresh that found the same is told at debug.
 */
export function reportTypes(log: Log, { facts, zones }: RegionTypes, isNew: boolean): void {
  const ways = (type: InstanceTypeFacts): number =>
    type.supportedUsageClasses.filter((way) => way === 'on-demand' || way === 'spot').length;
  const offerings = facts.reduce(
    (sum, type) => sum + ways(type) * (zones.get(type.name)?.length ?? 0),
    0,
  );
  log[isNew ? 'info' : 'debug'](
    'types-discovered',
    `found ${facts.length} instance types with ${offerings} offerings${isNew ? '' : ', as before'}`,
    { types: facts.length, offerings },
  );
}

/** Tells the cluster's Kubernetes version and address when they are found, and when they change. */
export function reportCluster(
  log: Log,
  before: ClusterFacts | undefined,
  { kubernetesVersion, endpoint, identity }: ClusterFacts,
): void {
  if (before?.kubernetesVersion === kubernetesVersion && before.endpoint === endpoint) return;
  log.info(
    'cluster-discovered',
    `the cluster ${identity.name} has Kubernetes ${kubernetesVersion}, and nodes reach it at ${endpoint}`,
    {
      kubernetesVersion,
      endpoint,
      ...(before === undefined ? {} : { before: before.kubernetesVersion }),
    },
  );
}

type Subnets = NodeClassStatus['subnets'];

const named = (subnets: Subnets): string =>
  subnets
    .map(({ id, zone }) => `${id} (${zone})`)
    .sort()
    .join(', ');

/** Names the subnets of a class when they are found, and when they change. */
export function reportSubnets(
  log: Log,
  { ref }: Pick<NodeClass, 'ref'>,
  before: Subnets,
  after: Subnets,
): void {
  const text = named(after);
  if (after.length === 0 || named(before) === text) return;
  log.info('subnets-discovered', `the subnets of ${classKey(ref)} are ${text}`, {
    class: classKey(ref),
    subnets: after.map(({ id }) => id),
  });
}
