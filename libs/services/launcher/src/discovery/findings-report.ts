import type { NodeClass, NodeClassStatus } from '@dovetail/core-api';
import { classKey } from '@dovetail/core-cluster';
import type { InstanceTypeFacts } from '@dovetail/core-ec2-model';
import type { Log } from '@dovetail/core-ports';

import type { ClusterFacts } from './cluster-facts.js';

// The messages begin with the words of Karpenter before v0.32, by which its users search the log.

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
    `Discovered ${facts.length} EC2 instance types with ${offerings} offerings${isNew ? '' : ', as before'}`,
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
    `Discovered kubernetes version ${kubernetesVersion} of cluster ${identity.name}, which nodes reach at ${endpoint}`,
    {
      kubernetesVersion,
      endpoint,
      ...(before === undefined ? {} : { before: before.kubernetesVersion }),
    },
  );
}

type Found = Pick<NodeClassStatus, 'subnets' | 'securityGroups'>;

const subnetsIn = ({ subnets }: Found): readonly string[] =>
  subnets.map(({ id, zone }) => `${id} (${zone})`).toSorted();
const groupsIn = ({ securityGroups }: Found): readonly string[] =>
  securityGroups.map(({ id, name }) => `${id} (${name})`).toSorted();

const areEqual = (a: readonly string[], b: readonly string[]): boolean =>
  JSON.stringify(a) === JSON.stringify(b);

/** Names the subnets and security groups of a class when they are found, and when they change. */
export function reportFindings(
  log: Log,
  { ref }: Pick<NodeClass, 'ref'>,
  before: Found | undefined,
  after: Found,
): void {
  const of = classKey(ref);
  const isNews = (read: (found: Found) => readonly string[]): boolean =>
    read(after).length > 0 && !(before !== undefined && areEqual(read(before), read(after)));
  if (isNews(subnetsIn))
    log.info('subnets-discovered', `Discovered subnets of ${of}: ${subnetsIn(after).join(', ')}`, {
      class: of,
      subnets: after.subnets.map(({ id }) => id),
    });
  if (isNews(groupsIn))
    log.info(
      'security-groups-discovered',
      `Discovered security groups of ${of}: ${groupsIn(after).join(', ')}`,
      { class: of, securityGroups: after.securityGroups.map(({ id }) => id) },
    );
}
